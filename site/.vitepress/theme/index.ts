import TwoslashFloatingVue from '@shikijs/vitepress-twoslash/client';
import DefaultTheme from 'vitepress/theme-without-fonts';
import type { Theme } from 'vitepress';
import '@shikijs/vitepress-twoslash/style.css';
import '../../../libs/palette/palette.css';
import './theme.css';
import BenchBars from './BenchBars.vue';
import BenchMachine from './BenchMachine.vue';
import SimulatedRush from './SimulatedRush.vue';
import ThreePods from './ThreePods.vue';

const COMPONENTS = { BenchBars, BenchMachine, SimulatedRush, ThreePods };

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.use(TwoslashFloatingVue as never);
    for (const [name, component] of Object.entries(COMPONENTS)) app.component(name, component);
  },
} satisfies Theme;
