import { type Browser, chromium } from 'playwright-core';
import { requireProgram } from './programs.js';

/** Starts a headless Chromium. */
export function launch(): Promise<Browser> {
  // Containers run as root, where Chromium's sandbox does not start.
  const args = process.getuid?.() === 0 ? ['--no-sandbox', '--disable-dev-shm-usage'] : [];
  return chromium.launch({ executablePath: requireProgram('chromium'), args, timeout: 30_000 });
}
