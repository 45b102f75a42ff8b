import { afterAll, beforeAll } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { launch } from '../../../tools/browser.js';
import { BUILT_APPLICATION, ServiceProcess } from '../../../tools/service-process.js';

/** A browser, and the built application in a process of its own, for the file that calls this. */
export function useBuiltApp(variables: Readonly<Record<string, string>> = {}): {
  readonly browser: Browser;
  readonly url: string;
} {
  let browser: Browser;
  let app: ServiceProcess;
  beforeAll(async () => {
    [browser, app] = await Promise.all([launch(), ServiceProcess.start(BUILT_APPLICATION, variables)]);
  });
  afterAll(async () => {
    await browser.close();
    await app[Symbol.asyncDispose]();
  });
  return {
    get browser() {
      return browser;
    },
    get url() {
      return app.url;
    },
  };
}
