import { ServiceProcess } from '../../../tools/service-process.js';
import { compiled } from '../../support/compiled.js';

/** Starts a service of this repository in a process of its own. */
export async function startService(
  entry: 'main' | 'matching.main',
  variables: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> {
  return ServiceProcess.start(await compiled(`src/${entry}`), variables);
}
