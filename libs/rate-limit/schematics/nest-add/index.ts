import { trustProxy } from './edit-main.js';
import { forRoot, type Identity, withRateLimitModule } from './edit-module.js';
import { type Client, CLIENTS, PackageFile } from './package-file.js';
import { signOfContainer, signOfProxy } from './proxy-signs.js';
import { ABOUT_IDENTITY, DOCS, nextSteps } from './report.js';
import { type Creation, creationsIn, type RootModule, rootModuleOf, Unreadable } from './root-module.js';
import { type Context, type Rule, textOf, type Tree } from './schematic.js';
import { Sources } from './sources.js';
import { compilerOf } from './typescript.js';

/** The options of `nest add nestjs-floodgate`. */
export interface NestAddOptions {
  /** Default: the client that the application has, else `none`. */
  readonly client?: Client | 'none';
  /** Default `ip`. */
  readonly identity?: Identity;
  /** Whether a proxy stands in front. Default: whether a file of the project shows one. */
  readonly trustProxy?: boolean;
  /** The folder of the sources. Default `src`. */
  readonly sourceRoot?: string;
  /** Whether the client is written into package.json without being installed. */
  readonly skipInstall?: boolean;
}

/**
 * `nest add nestjs-floodgate`: imports `RateLimitModule` in the root module, installs a client of Redis, and sets trust proxy. A
 * second run changes nothing.
 *
 * @param folder the application's; default the working folder
 */
export default function nestAdd(options: NestAddOptions, folder: string = process.cwd()): Rule {
  return (tree, context) => {
    const manifest = PackageFile.of(tree);
    if (manifest === undefined)
      throw new Error('There is no package.json here: run nest add in the folder of the application');
    const choices = { client: options.client ?? clientOf(manifest), identity: options.identity ?? 'ip' };
    const sourceRoot = `/${(options.sourceRoot ?? 'src').replaceAll(/^(?:\.?\/)+|\/+$/g, '')}`;
    const application = read(tree, sourceRoot, folder);
    if ('unreadable' in application) throw new Error(refusal(application.unreadable, choices));

    const { sources, present, creation } = application;
    const say = (message: string): void => context.logger.info(message);
    if (present !== undefined) {
      const lacksRedis = choices.client !== 'none' && !/\b(?:redis|store)\b/.test(sources.text(present));
      const more = lacksRedis ? ' Give it redis: process.env.REDIS_URL, so that all processes count together.' : '';
      say(`${present.slice(1)} has RateLimitModule already, and stays as it is.${more}`);
    } else {
      const { root } = application;
      tree.overwrite(root.path, withRateLimitModule(sources, root, choices));
      say(`${root.path.slice(1)}: ${root.name} imports RateLimitModule.`);
    }
    const { client } = choices;
    if (client !== 'none' && !manifest.has(client)) {
      manifest.add(client, CLIENTS[client]);
      const { manager } = manifest;
      const isLeft = options.skipInstall === true;
      if (!isLeft) context.addTask(installation(client, manager));
      const install = isLeft ? `: run ${manager ?? 'npm'} install` : '';
      say(`package.json: ${client} ${CLIENTS[client]} is a dependency${install}.`);
    }
    if (manifest.has('@nestjs/throttler')) {
      context.logger.warn(
        `The application has @nestjs/throttler, whose limits stay: npx nestjs-floodgate migrate rewrites them (${DOCS}/migration.md).`,
      );
    }
    if (creation !== undefined) setTrustProxy(tree, context, { sources, creation, wanted: options.trustProxy });
    if (present === undefined) {
      const about = ABOUT_IDENTITY[choices.identity];
      if (about !== undefined) context.logger.warn(about);
      say(nextSteps(client));
    }
  };
}

interface Application {
  readonly sources: Sources;
  /** What serves HTTP. */
  readonly creation: Creation | undefined;
}

type Read =
  | (Application & { readonly present: string })
  | (Application & { readonly present: undefined; readonly root: RootModule })
  | { readonly unreadable: string };

function read(tree: Tree, sourceRoot: string, folder: string): Read {
  const ts = compilerOf(folder);
  if (ts === undefined) {
    return { unreadable: 'no TypeScript compiler was found: neither in the application nor in its @nestjs/cli' };
  }
  const sources = new Sources(ts, tree, sourceRoot);
  const searched = sourceRoot.slice(1);
  if (sources.paths.length === 0) {
    const isJavaScript = ['js', 'mjs', 'cjs'].some((end) => tree.exists(`${sourceRoot}/main.${end}`));
    return {
      unreadable: isJavaScript
        ? `the sources in ${searched} are JavaScript, and this command edits TypeScript only`
        : `no TypeScript file was found in ${searched}`,
    };
  }
  const creations = creationsIn(sources, entryOf(tree, sourceRoot));
  const creation = creations.find(({ isHttp }) => isHttp);
  const present = sources.paths.find((path) => importsFloodgate(sources.text(path)));
  if (present !== undefined) return { sources, creation, present };
  try {
    return { sources, creation, present, root: rootModuleOf(sources, creations, searched) };
  } catch (error) {
    if (error instanceof Unreadable) return { unreadable: error.message };
    throw error;
  }
}

/** `ThrottlerModule` of the package brings `RateLimitModule` with it. */
function importsFloodgate(text: string): boolean {
  return (
    /['"]nestjs-floodgate(?:\/throttler)?['"]/.test(text) &&
    /\b(?:RateLimitModule|ThrottlerModule)\s*\.\s*forRoot/.test(text)
  );
}

/** The file that `nest start` runs. */
function entryOf(tree: Tree, sourceRoot: string): string | undefined {
  interface Project {
    readonly sourceRoot?: string;
    readonly entryFile?: string;
  }
  let configuration: Project & { readonly projects?: Readonly<Record<string, Project>> } = {};
  try {
    configuration = JSON.parse(textOf(tree, '/nest-cli.json') ?? '{}') as typeof configuration;
  } catch {
    // Comments, perhaps: the usual names serve.
  }
  const ofRoot = Object.values(configuration.projects ?? {}).find((one) => `/${one.sourceRoot}` === sourceRoot);
  const name = ofRoot?.entryFile ?? configuration.entryFile ?? 'main';
  return [`${sourceRoot}/${name}.ts`, `/${name}.ts`, `${sourceRoot}/main.ts`].find((path) => tree.exists(path));
}

function clientOf(manifest: PackageFile): Client | 'none' {
  return (Object.keys(CLIENTS) as Client[]).find((client) => manifest.has(client)) ?? 'none';
}

/** A task of `@angular-devkit/schematics`. It names the package, since pnpm keeps to its lock file otherwise where CI is set. */
function installation(client: Client, packageManager: string | undefined): { toConfiguration(): object } {
  const packageName = `"${client}@${CLIENTS[client]}"`;
  return {
    toConfiguration: () => ({
      name: 'node-package',
      options: { command: 'install', packageName, packageManager, quiet: true, hideOutput: true },
    }),
  };
}

function setTrustProxy(
  tree: Tree,
  { logger }: Context,
  { sources, creation, wanted }: { sources: Sources; creation: Creation; wanted: boolean | undefined },
): void {
  if (wanted === false) return;
  const sign = signOfProxy(tree);
  if (wanted !== true && sign === undefined) {
    const container = signOfContainer(tree);
    if (container !== undefined) {
      logger.warn(
        `${container} does not tell whether a proxy stands in front. If one does, set trust proxy, or all clients share its address: ${DOCS}/identity.md#proxies`,
      );
    }
    return;
  }
  const shown = sign === undefined ? 'a proxy stands in front' : `${sign.path} shows ${sign.means} in front`;
  const result = trustProxy(sources, creation);
  if (result.done === 'already') return;
  if (result.done === 'by hand') {
    logger.warn(
      `Trust proxy is not set, since ${result.why}. As ${shown}, write there: ${result.setting} (${DOCS}/identity.md#proxies)`,
    );
    return;
  }
  tree.overwrite(result.path, result.text);
  logger.info(
    `${result.path.slice(1)}: trust proxy is set, as ${shown}. Correct it if more than one proxy does, or none: ${DOCS}/identity.md#proxies`,
  );
}

function refusal(why: string, choices: { client: Client | 'none'; identity: Identity }): string {
  const { names, text } = forRoot(choices);
  const install = choices.client === 'none' ? '' : `\n\n  npm install ${choices.client}`;
  return `Nothing was changed: ${why}. Write this by hand into your root module:

  import { ${names.join(', ')} } from 'nestjs-floodgate';

  imports: [
    ${text.replaceAll('\n', '\n    ')},
  ]${install}

${DOCS}/module.md tells more.`;
}
