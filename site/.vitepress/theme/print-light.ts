/** Prints a page in the colours of light: a browser leaves out dark backgrounds, and light text on paper cannot be read. */
export function printLight(): void {
  const { classList } = document.documentElement;
  let wasDark = false;
  matchMedia('print').addEventListener('change', ({ matches }) => {
    if (matches) wasDark = classList.contains('dark');
    classList.toggle('dark', !matches && wasDark);
  });
}
