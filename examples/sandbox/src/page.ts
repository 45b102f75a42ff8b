/** Sends requests to this application, and draws one square for each answer. */
export const PAGE = `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width, initial-scale=1" />
  <meta name="color-scheme" content="light dark" />
  <title>Floodgate sandbox</title>
  <style>
    body { max-width: 40rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
    button { margin: 0 0.5rem 0.5rem 0; padding: 0.5rem 1rem; font: inherit; }
    #answers { display: flex; flex-wrap: wrap; gap: 0.25rem; margin: 1rem 0; }
    #answers span { padding: 0.25rem 0.4rem; border-radius: 0.25rem; background: #00706a; color: #fff; font-size: 0.8rem; }
    #answers span.rejected { background: #b3122a; }
    pre { white-space: pre-wrap; }
  </style>
  <h1>Press, and see a limit</h1>
  <p>
    <code>src/app.module.ts</code> has the two limits. A search: a burst of 20, then one a second. An export takes a second, and two run at once.
  </p>
  <button data-path="search" data-count="25">Search 25 times</button>
  <button data-path="search" data-count="1">Search once</button>
  <button data-path="export" data-count="5">Export 5 times</button>
  <div id="answers" role="status"></div>
  <pre id="last"></pre>
  <script>
    const answers = document.getElementById('answers');
    const send = async (path) => {
      const response = await fetch('./' + path);
      const square = document.createElement('span');
      square.textContent = response.status;
      if (response.status === 429) square.className = 'rejected';
      answers.append(square);
      const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'retry-after'];
      const headers = names.map((name) => [name, response.headers.get(name)]).filter(([, value]) => value !== null);
      const body = await response.text();
      document.getElementById('last').textContent =
        [response.status, ...headers.map((header) => header.join(': ')), body].join('\\n');
    };
    document.addEventListener('click', ({ target }) => {
      const { path, count } = target.dataset;
      if (path === undefined) return;
      answers.replaceChildren();
      for (let i = 0; i < count; i++) void send(path);
    });
  </script>
</html>
`;
