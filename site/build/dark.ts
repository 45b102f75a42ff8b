import type { AtRule, Plugin } from 'postcss';

const SCHEME = /^\(prefers-color-scheme:\s*(dark|light)\)$/;

/**
 * Readers choose light or dark on the site, and `palette.css` asks the system: its rules for a colour scheme become rules for the
 * class that VitePress sets on the root.
 */
export const byClass: Plugin = {
  postcssPlugin: 'by-class',
  AtRule: {
    media(media: AtRule) {
      const scheme = SCHEME.exec(media.params)?.[1];
      if (scheme === undefined) return;
      const root = scheme === 'dark' ? ':root.dark' : ':root:not(.dark)';
      media.walkRules((rule) => {
        rule.selectors = rule.selectors.map((one) =>
          /^(?::root|html)\b/.test(one) ? one.replace(/^(?::root|html)/, root) : `${root} ${one}`,
        );
      });
      media.replaceWith(media.nodes ?? []);
    },
  },
};
