const GAP = 4;

/** Shows what an editor says of a name in the code, where the pointer is over it: one box for all, as wide as its text. */
export function showTypesOnHover(): void {
  let box: HTMLElement | undefined;
  const hide = (): void => {
    box?.remove();
    box = undefined;
  };
  document.addEventListener('pointerover', ({ target }) => {
    if (!(target instanceof Element) || box?.contains(target) === true) return;
    hide();
    const name = target.closest<HTMLElement>('.has-type');
    if (name !== null) box = boxFor(name);
  });
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') hide();
  });
  document.addEventListener('scroll', hide, { capture: true, passive: true });
}

function boxFor(name: HTMLElement): HTMLElement {
  const { type = '', docs = '' } = name.dataset;
  const box = document.createElement('div');
  box.className = 'type-box';
  box.setAttribute('role', 'tooltip');
  const [code, text] = [document.createElement('code'), document.createElement('p')];
  code.textContent = type;
  text.textContent = docs;
  box.append(code, text);
  document.body.append(box);
  const { left, top, bottom } = name.getBoundingClientRect();
  const room = document.documentElement.clientWidth - box.offsetWidth - GAP;
  box.style.left = `${Math.max(GAP, Math.min(left, room))}px`;
  const isAbove = bottom + box.offsetHeight > innerHeight && top > box.offsetHeight;
  box.style.top = `${isAbove ? top - box.offsetHeight : bottom}px`;
  return box;
}
