import { createRequire } from 'node:module';
import { join } from 'node:path';
import { atOnce } from './changes.js';
import { trustProxy, trustProxyIn } from './edit-main.js';
import { type Identity, type ModuleChoices, modulesFor, withRateLimitModule } from './edit-module.js';
import { type Formatter, formatterOf } from './formatter.js';
import { type Client, CLIENTS, type Metrics, METRICS, PackageFile } from './package-file.js';
import { signOfContainer, signOfProxy } from './proxy-signs.js';
import { ABOUT_IDENTITY, nextSteps, SITE } from './report.js';
import { type Creation, creationsIn, type RootModule, rootModuleOf, Unreadable } from './root-module.js';
import { type Context, Refusal, type Rule, textOf, type Tree } from './schematic.js';
import { nodesIn, Sources } from './sources.js';
import { compilerOf } from './typescript.js';
import { type Project, projectsOf } from './workspace.js';

/** The options of `nest add nestjs-floodgate`. */
export interface NestAddOptions {
  /** Default: the client that the application has, else `none`. */
  readonly client?: Client | 'none';
  /** Default `ip`. */
  readonly identity?: Identity;
  /** What publishes the metrics. Default: what the application measures with, else `none`. */
  readonly metrics?: Metrics | 'none';
  /** Whether a proxy stands in front. Default: whether a file of the project shows one. */
  readonly trustProxy?: boolean;
  /** The folder of the sources. Default `src`. */
  readonly sourceRoot?: string;
  /** The project of a workspace. Nest's command line may have read its name, and pass on true. */
  readonly project?: string | number | boolean;
  /** The same as `project`. */
  readonly p?: string | number | boolean;
  /** Whether the client is written into package.json without being installed. */
  readonly skipInstall?: boolean;
  /** The same as `skipInstall`: the command line of Nest passes `-s` on as it is. */
  readonly s?: boolean;
  /** Whether nothing is changed: the command line passes `-d` on, and reads `--dry-run` itself. */
  readonly d?: boolean;
}

/**
 * `nest add nestjs-floodgate`: imports `RateLimitModule` in the root module, with the metrics where the application has some, installs a
 * client of Redis, and sets trust proxy. A second run changes nothing.
 *
 * @param folder the application's; default the working folder
 */
export default function nestAdd(options: NestAddOptions, folder: string = process.cwd()): Rule {
  const formatter = (tree: Tree): Formatter | undefined => formatterOf(PackageFile.of(tree, folder)!, folder);
  return atOnce(ruleFor(options, folder), { folder, formatter, isDry: options.d === true });
}

function ruleFor(options: NestAddOptions, folder: string): Rule {
  return (tree, context) => {
    const manifest = PackageFile.of(tree, folder);
    if (manifest === undefined)
      throw new Error('There is no package.json here: run nest add in the folder of the application');
    const { manager = 'npm', unfitNest } = manifest;
    if (unfitNest !== undefined) throw new Refusal(`package.json has ${unfitNest}. Update Nest first.`);
    const choices = {
      client: options.client ?? clientOf(manifest),
      identity: options.identity ?? 'ip',
      metrics: options.metrics ?? manifest.metrics,
    };
    const application = read(tree, options, folder, choices);
    if ('unreadable' in application) throw new Refusal(byHand(application.unreadable, choices, manager));

    const { sources, creation, present } = application;
    const say = (message: string): void => context.logger.info(message);
    const { client, identity, metrics } = choices;
    const isFirst = present === undefined;
    if (isFirst) {
      const { root, text } = application;
      tree.overwrite(root.path, text);
      const names = metrics === 'none' ? 'RateLimitModule' : 'RateLimitModule and RateLimitMetricsModule';
      say(`${root.path.slice(1)}: ${root.name} imports ${names}.`);
    } else {
      const lacksRedis = client !== 'none' && !/\b(?:redis|store)\b/.test(sources.text(present.path));
      const more = lacksRedis ? ' Give it redis: process.env.REDIS_URL, so that all processes count together.' : '';
      say(`${present.path.slice(1)} has ${present.name} already, and stays as it is.${more}`);
    }
    const others = (Object.keys(CLIENTS) as Client[]).filter((one) => one !== client && manifest.has(one));
    const needed: Needed[] = [];
    // A second client would take over the URL of a module that is there.
    if (client !== 'none' && !manifest.has(client) && (isFirst || others.length === 0)) {
      const { version, against } = manifest.versionFor(client);
      if (against !== undefined) context.logger.warn(`No version of ${client} fits: ${against}.`);
      needed.push({ name: client, version });
    }
    if (isFirst && metrics !== 'none') needed.push(METRICS[metrics]);
    for (const one of needed.filter(({ name }) => !manifest.has(name))) {
      manifest.add(one.name, one.version);
      const isLeft = options.skipInstall === true || options.s === true;
      if (!isLeft) context.addTask(installation(one, manifest.manager));
      const install = isLeft ? `: run ${manager} install` : '';
      say(`package.json: ${one.name} ${one.version} is a dependency${install}.`);
    }
    if (manifest.unfit !== undefined)
      context.logger.warn(`package.json has ${manifest.unfit}. Update it before you start the application.`);
    if (manifest.has('@nestjs/throttler')) {
      context.logger.warn(
        `The application has @nestjs/throttler, whose limits stay: npx nestjs-floodgate migrate rewrites them (${SITE}migration).`,
      );
    }
    if (creation !== undefined)
      setTrustProxy(tree, context, { sources, creation, wanted: options.trustProxy, isFirst });
    if (!isFirst) return;
    if (client === 'redis' && (others.length > 0 || isInstalled('ioredis', folder))) {
      context.logger.warn(
        `ioredis is installed, too, and opens the URL. To use redis, give forRoot its client: ${SITE}redis#use-node-redis`,
      );
    }
    const about = ABOUT_IDENTITY[identity];
    if (about !== undefined) context.logger.warn(about);
    say(nextSteps(client, metrics));
  };
}

interface Needed {
  readonly name: string;
  readonly version: string;
}

/** A module of the package that the application has. */
interface Present {
  readonly path: string;
  readonly name: string;
}

interface Application {
  readonly sources: Sources;
  /** What serves HTTP. */
  readonly creation: Creation | undefined;
}

type Read =
  | (Application & { readonly present: Present })
  | (Application & {
      readonly present: undefined;
      readonly root: RootModule;
      /** Of the root module's file, with the modules. */
      readonly text: string;
    })
  | { readonly unreadable: string };

function read(tree: Tree, options: NestAddOptions, folder: string, choices: ModuleChoices): Read {
  const ts = compilerOf(folder);
  if (ts === undefined) {
    return { unreadable: 'no TypeScript compiler was found: neither in the application nor in its @nestjs/cli' };
  }
  const given = `/${(options.sourceRoot ?? 'src').replaceAll(/^(?:\.?\/)+|\/+$/g, '')}`;
  const ofGiven = new Sources(ts, tree, given);
  // Nest's command line knows the projects of nest-cli.json alone, not those of Nx.
  const projects = ofGiven.paths.length === 0 ? applicationsOf(tree, options.project ?? options.p) : [];
  const sourceRoot = projects.length === 1 ? projects[0]!.sourceRoot : given;
  const sources = sourceRoot === given ? ofGiven : new Sources(ts, tree, sourceRoot);
  const searched = sourceRoot.slice(1);
  if (projects.length > 1) {
    const flags = projects.map(({ names: [name] }) => `--project=${name}`).join(', ');
    return {
      unreadable: `no TypeScript file was found in ${searched}, and the workspace has several projects: name one by ${flags}`,
    };
  }
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
  const present = presentIn(sources);
  if (present !== undefined) return { sources, creation, present };
  try {
    const root = rootModuleOf(sources, creations, searched);
    return { sources, creation, present, root, text: withRateLimitModule(sources, root, choices) };
  } catch (error) {
    if (error instanceof Unreadable) return { unreadable: error.message };
    throw error;
  }
}

/** The project of a workspace that the command line names, or its projects that are Nest applications. */
function applicationsOf(tree: Tree, named: unknown): Project[] {
  const projects = projectsOf(tree);
  return typeof named === 'string'
    ? projects.filter(({ names }) => names.includes(named))
    : projects.filter(({ sourceRoot }) => textOf(tree, `${sourceRoot}/main.ts`)?.includes('NestFactory') === true);
}

/** `ThrottlerModule` of the package brings `RateLimitModule` with it. */
const MODULES: ReadonlySet<string> = new Set(['RateLimitModule', 'ThrottlerModule']);
const FROM: ReadonlySet<string> = new Set(['nestjs-floodgate', 'nestjs-floodgate/throttler']);

/** The first call of `forRoot` or `forRootAsync` of a module of the package. */
function presentIn(sources: Sources): Present | undefined {
  const { ts, paths } = sources;
  for (const path of paths.filter((one) => sources.text(one).includes('nestjs-floodgate'))) {
    const file = sources.parse(path);
    /** By its name in the file. */
    const imported = new Map<string, string>();
    for (const one of file.statements) {
      if (!ts.isImportDeclaration(one) || !ts.isStringLiteral(one.moduleSpecifier)) continue;
      const bindings = one.importClause?.namedBindings;
      if (!FROM.has(one.moduleSpecifier.text) || bindings === undefined) continue;
      if (ts.isNamespaceImport(bindings))
        MODULES.forEach((name) => imported.set(`${bindings.name.text}.${name}`, name));
      else bindings.elements.forEach(({ name, propertyName }) => imported.set(name.text, (propertyName ?? name).text));
    }
    for (const { expression } of nodesIn(ts, file, ts.isCallExpression)) {
      if (!ts.isPropertyAccessExpression(expression) || !/^forRoot(?:Async)?$/.test(expression.name.text)) continue;
      const name = imported.get(expression.expression.getText(file));
      if (name !== undefined && MODULES.has(name)) return { path, name };
    }
  }
  return undefined;
}

/** Whether a package is found from the folder, whoever has asked for it. */
function isInstalled(name: string, folder: string): boolean {
  try {
    createRequire(join(folder, 'package.json')).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** The file that `nest start` runs. */
function entryOf(tree: Tree, sourceRoot: string): string | undefined {
  interface OfNest {
    readonly sourceRoot?: string;
    readonly entryFile?: string;
  }
  let configuration: OfNest & { readonly projects?: Readonly<Record<string, OfNest>> } = {};
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
function installation({ name, version }: Needed, packageManager: string | undefined): { toConfiguration(): object } {
  const packageName = `"${name}@${version}"`;
  return {
    toConfiguration: () => ({
      name: 'node-package',
      options: { command: 'install', packageName, packageManager, quiet: true, hideOutput: true },
    }),
  };
}

interface TrustProxyQuestion {
  readonly sources: Sources;
  readonly creation: Creation;
  readonly wanted: boolean | undefined;
  readonly isFirst: boolean;
}

function setTrustProxy(
  tree: Tree,
  { logger }: Context,
  { sources, creation, wanted, isFirst }: TrustProxyQuestion,
): void {
  if (wanted === false) return;
  const already = trustProxyIn(sources);
  const sign = signOfProxy(tree);
  if (already !== undefined) {
    const isAsked = wanted === true || sign !== undefined || signOfContainer(tree) !== undefined;
    if (isFirst && isAsked) logger.info(`${already.slice(1)} sets trust proxy already, and stays as it is.`);
    return;
  }
  if (wanted !== true && sign === undefined) {
    const container = signOfContainer(tree);
    if (container !== undefined) {
      logger.warn(
        `${container} does not tell whether a proxy stands in front. If one does, set trust proxy, or all clients share its address: ${SITE}identity#proxies`,
      );
    }
    return;
  }
  const shown = sign === undefined ? 'a proxy stands in front' : `${sign.path} shows ${sign.means} in front`;
  const result = trustProxy(sources, creation);
  if (result.done === 'by hand') {
    logger.warn(
      `Trust proxy is not set, since ${result.why}. As ${shown}, write there: ${result.setting} (${SITE}identity#proxies)`,
    );
    return;
  }
  tree.overwrite(result.path, result.text);
  logger.info(
    `${result.path.slice(1)}: trust proxy is set, as ${shown}. Correct it if more than one proxy does, or none: ${SITE}identity#proxies`,
  );
}

function byHand(why: string, choices: ModuleChoices, manager: string): string {
  const { names, modules } = modulesFor(choices);
  const add = `${manager} ${manager === 'npm' ? 'install' : 'add'}`;
  const install = choices.client === 'none' ? '' : `\n\n  ${add} ${choices.client}`;
  return `${why}. Write this by hand into your root module:

  import { ${names.join(', ')} } from 'nestjs-floodgate';

  imports: [
    ${modules.join(',\n').replaceAll('\n', '\n    ')},
  ]${install}

${SITE}module tells more.`;
}
