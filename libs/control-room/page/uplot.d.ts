import type UPlot from 'uplot';

// The page loads the minified build, a classic script that defines a global variable.
declare global {
  // eslint-disable-next-line no-var -- only `var` is a property of `globalThis`
  var uPlot: typeof UPlot;
}
