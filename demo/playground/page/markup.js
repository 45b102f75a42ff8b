/** The playground without its rows, its presets and its numbers, which scripts add. */
export const MARKUP = `
<h2 class="question" id="question"></h2>
<p class="answer" id="answer" aria-live="polite"></p>
<p id="notice" class="notice" role="alert" hidden></p>
<section class="timeline" id="timeline" tabindex="0" aria-labelledby="question" aria-describedby="keys">
  <div class="axis"><canvas id="axis" aria-hidden="true"></canvas></div>
  <div id="rows"></div>
  <p class="legend" aria-hidden="true">
    <span><i class="sign passed"></i>passed</span>
    <span><i class="sign waits"></i>waits for its slot</span>
    <span><i class="sign rejected"></i>rejected (429)</span>
    <span><i class="sign level"></i>used of the limit</span>
    <span><i class="sign edge"></i>edge of a window</span>
  </p>
</section>
<p id="result" role="status"></p>
<section class="controls" id="controls" aria-label="Traffic, time and numbers">
  <div class="group presets" id="presets" role="group" aria-label="Questions"><span class="wide">Another question:</span></div>
  <div class="group bar">
    <button id="tap" type="button">Send 1</button>
    <button id="burst" type="button">Send 15</button>
    <button id="play" type="button">Pause</button>
    <button id="all" type="button" aria-pressed="false">All six<span class="wide"> algorithms</span></button>
    <output id="clock" aria-live="off">0.0 s</output>
    <span id="pace" hidden></span>
  </div>
  <details class="drawer" id="drawer">
    <summary>More traffic, and the numbers</summary>
    <div class="inside">
      <div class="group">
      <div class="group" role="group" aria-label="Send requests">
        <label class="pair">
          <span>Send at once</span>
          <input id="size" type="number" min="1" max="100" step="1" value="15" title="1 to 100 requests" aria-describedby="notice" />
        </label>
        <span class="pair">
          <button id="hold" type="button" aria-pressed="false">Hold</button>
          <select id="rate" aria-label="Rate of requests while held">
            <option value="1000">1/s</option>
            <option value="500">2/s</option>
            <option value="200" selected>5/s</option>
            <option value="100">10/s</option>
            <option value="50">20/s</option>
          </select>
        </span>
        <button id="low" type="button" title="At once, of low priority, which may fill half of each limit">Low priority</button>
        <button id="edge" type="button" title="One limit just before the edge of a window, one just after it">Edge of a window</button>
        <button id="impatient" type="button" title="At once; the script tries again four times a second, or 40 times a longer window">Retry at once</button>
        <button id="patient" type="button" title="At once; the script waits for Retry-After">Retry as told</button>
      </div>
      <div class="group" role="group" aria-label="Time">
        <button id="step" type="button">Step</button>
        <button id="speed" type="button" aria-pressed="false">5×<span class="unseen"> faster</span></button>
        <button id="clear" type="button">Clear</button>
        <button id="share" type="button">Copy link</button>
      </div>
      </div>
      <div class="fields">
        <fieldset data-settings="capacity refill"><legend>Buckets</legend></fieldset>
        <fieldset data-settings="limit windowMs"><legend>Windows</legend></fieldset>
        <fieldset data-settings="atOnce durationMs leaseMs"><legend>Concurrency</legend></fieldset>
        <fieldset data-settings="pro">
          <legend>In the code</legend>
          <div class="field text">
            <label for="setting-name">Name</label>
            <span class="hint" id="range-name">up to 64 characters</span>
            <input id="setting-name" type="text" aria-describedby="range-name wrong" autocomplete="off" spellcheck="false" />
          </div>
          <div class="field text">
            <label for="setting-by">Counts by</label>
            <select id="setting-by"></select>
          </div>
        </fieldset>
      </div>
      <p id="wrong" class="notice" role="alert" hidden></p>
      <p id="keys" class="keys">
        Keys, on the timeline or a button: <kbd>T</kbd> sends one, <kbd>B</kbd> a burst, <kbd>E</kbd> the edge, <kbd>P</kbd> pauses, <kbd>S</kbd> steps.
      </p>
    </div>
  </details>
</section>
<dialog id="manual" aria-labelledby="manual-title">
  <form method="dialog">
    <h2 id="manual-title">Copy it by hand</h2>
    <p>The browser does not let this page write to the clipboard.</p>
    <textarea id="manual-text" readonly rows="3" aria-label="The text to copy"></textarea>
    <button type="submit">Close</button>
  </form>
</dialog>
`;
