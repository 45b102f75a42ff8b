import DefaultTheme from 'vitepress/theme-without-fonts';
import type { Theme } from 'vitepress';
import { defineAsyncComponent, h } from 'vue';
import '../../../demo/palette/palette.css';
import './theme.css';
import BenchBars from './BenchBars.vue';
import BenchMachine from './BenchMachine.vue';
import NotFound from './NotFound.vue';
import Playground from './Playground.vue';
import SimulatedRush from './SimulatedRush.vue';
import ThreePods from './ThreePods.vue';
import { printLight } from './print-light';
import { showTypesOnHover } from './types-on-hover';

/** With its models it is as large as all others. One page has it. */
const IdeaFigure = defineAsyncComponent(() => import('./IdeaFigure.vue'));

const COMPONENTS = { BenchBars, BenchMachine, IdeaFigure, Playground, SimulatedRush, ThreePods };

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'not-found': () => h(NotFound) }),
  enhanceApp({ app }) {
    if (typeof document !== 'undefined') {
      showTypesOnHover();
      printLight();
    }
    for (const [name, component] of Object.entries(COMPONENTS)) app.component(name, component);
  },
} satisfies Theme;
