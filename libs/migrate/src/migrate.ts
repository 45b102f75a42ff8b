import { type CompilerOptions, Node, Project, type SourceFile, ts } from 'ts-morph';
import { readApp, type ThrottlerFile } from './app.js';
import { isHelper } from './expressions.js';
import { FileRewrite } from './file-rewrite.js';
import { textOf } from './files.js';
import { type Note, Notes } from './notes.js';
import { DecoratorRewriter } from './rewrite-decorators.js';
import { rewriteBarrels } from './rewrite-barrels.js';
import { rewriteGuards, rewriteSubclass } from './rewrite-guards.js';
import { ModuleRewriter } from './rewrite-module.js';
import { PolicyWriter } from './throttlers.js';

/** What a file was and is. */
export interface ChangedFile {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** What a migration does to the source files. Nothing is written yet. */
export interface Migration {
  /** Whether any file uses @nestjs/throttler. */
  readonly found: boolean;
  readonly changed: readonly ChangedFile[];
  /** What a person has to decide. */
  readonly notes: readonly Note[];
  /** Whether a file still needs @nestjs/throttler. */
  readonly stillNeeded: boolean;
}

/** What is rewritten otherwise, or has no place in Floodgate's own API. */
const NO_COUNTERPART: Readonly<Record<string, string>> = {
  ThrottlerException: 'RateLimitExceededException is thrown now, with the decision and another body',
  ThrottlerStorage: 'RateLimiter decides outside of requests, and RateLimitStore keeps state',
  ThrottlerStorageService: 'MemoryStore keeps state in the process',
  InjectThrottlerStorage: 'inject RateLimiter in its place',
  InjectThrottlerOptions: 'the options are not injected',
  getStorageToken: 'RateLimiter is its own token',
  getOptionsToken: 'the options are not injected',
  ThrottlerOptionsFactory: 'RateLimitModule.forRootAsync takes a class with createRateLimitOptions',
  ThrottlerModuleOptions: 'RateLimitModuleOptions takes its place',
  ThrottlerOptions: 'Policy takes its place',
  ThrottlerRequest: 'a RateLimitGuard gets no such object',
  ThrottlerLimitDetail: 'Decision takes its place',
};

/** What is rewritten where it decorates a class or a method. */
const DECORATORS: Readonly<Record<string, string>> = {
  Throttle: 'as no decorator it is not rewritten. RateLimit takes its place, with all policies of the route',
  SkipThrottle: 'as no decorator it is not rewritten. SkipRateLimit takes its place',
};

/**
 * Rewrites source files.
 *
 * @param paths the files of the application
 */
export function migrateSources(paths: readonly string[], compilerOptions: CompilerOptions = {}): Migration {
  const project = new Project({
    compilerOptions: { allowJs: true, experimentalDecorators: true, ...compilerOptions, noLib: true },
    skipFileDependencyResolution: true,
    skipAddingFilesFromTsConfig: true,
  });
  for (const path of paths) project.createSourceFile(path, textOf(path), { overwrite: true });
  const notes = new Notes();
  const app = readApp(project, notes);
  if (app === undefined)
    return { found: false, changed: [], notes: notes.sorted(), stillNeeded: notes.sorted().length > 0 };
  if ('unreadable' in app) return { found: true, changed: [], notes: notes.sorted(), stillNeeded: true };

  const bySource = new Map(app.files.map((one) => [one.file, one]));
  const exportedName = (file: SourceFile, local: string): string | undefined =>
    bySource
      .get(file)
      ?.sources.map(({ names }) => names.get(local))
      .find((one) => one !== undefined);
  const writer = new PolicyWriter(notes, exportedName);
  const decorators = new DecoratorRewriter(app, writer, notes);
  const modules = new ModuleRewriter(app, writer, notes);
  const rewrites = app.files.map((file) => ({ file, rewrite: new FileRewrite(file.file, file.sources) }));
  for (const { file, rewrite } of rewrites) decorators.rewrite(rewrite, file);
  const byFile = new Map(rewrites.map(({ file, rewrite }) => [file.file, rewrite]));
  const rewriteOf = (file: SourceFile): FileRewrite => {
    const rewrite = byFile.get(file) ?? new FileRewrite(file, []);
    byFile.set(file, rewrite);
    return rewrite;
  };
  modules.rewrite(rewriteOf, decorators.namesOnClass);
  for (const { file, rewrite } of rewrites) {
    modules.rewriteProviders(rewrite, file);
    rewriteGuards(rewrite, file, notes);
    rewriteHelpers(rewrite, file);
  }
  for (const owner of app.guards) rewriteSubclass(rewriteOf(owner.getSourceFile()), owner, app.guards, notes);
  for (const { file, rewrite } of rewrites) noteTheRest(rewrite, file, notes);
  const passesOn = rewriteBarrels(app.barrels, byFile, notes);
  for (const rewrite of byFile.values()) rewrite.finish();
  return concluded([...byFile.values()], notes, app.leavesFiles || passesOn);
}

/** The duration helpers that are left: each is a number of milliseconds. */
function rewriteHelpers({ edits }: FileRewrite, { file, sources }: ThrottlerFile): void {
  for (const call of file.getDescendantsOfKind(ts.SyntaxKind.CallExpression)) {
    const local = call.getExpression().getText();
    const name = sources.map(({ names }) => names.get(local)).find((one) => one !== undefined);
    const [count] = call.getArguments();
    if (!isHelper(name) || count === undefined || edits.covers(call)) continue;
    const factor = { seconds: '1000', minutes: '60_000', hours: '3_600_000', days: '86_400_000', weeks: '604_800_000' }[
      name!
    ]!;
    edits.replace(call, `(${count.getText()}) * ${factor}`);
  }
}

function noteTheRest({ edits }: FileRewrite, { file, sources }: ThrottlerFile, notes: Notes): void {
  for (const { statement, names } of sources) {
    for (const [local, name] of names) {
      const [use] = file
        .getDescendantsOfKind(ts.SyntaxKind.Identifier)
        .filter((one) => one.getText() === local && !edits.covers(one) && one.getPos() > statement.getEnd())
        // A decorator that stays has a line of its own already.
        .filter((one) => !(name in DECORATORS) || one.getFirstAncestorByKind(ts.SyntaxKind.Decorator) === undefined)
        .filter((one) => !Node.isExportSpecifier(one.getParent()));
      const instead = NO_COUNTERPART[name] ?? DECORATORS[name];
      if (use !== undefined && instead !== undefined) notes.add(use, `${name} stays: ${instead}`);
    }
  }
}

function concluded(rewrites: readonly FileRewrite[], notes: Notes, leavesFiles: boolean): Migration {
  const changed: ChangedFile[] = [];
  let stillNeeded = leavesFiles;
  for (const { edits } of rewrites) {
    const before = edits.file.getFullText();
    const after = edits.result();
    const path = edits.file.getFilePath();
    if (!parses(path, after)) {
      notes.add(edits.file, 'the rewritten file would not parse, so nothing is rewritten: please report this');
      return { found: true, changed: [], notes: notes.sorted(), stillNeeded: true };
    }
    if (after !== before) changed.push({ path, before, after });
    stillNeeded ||= /['"](?:@nestjs\/throttler|nestjs-floodgate\/throttler)['"]/.test(after);
  }
  return { found: true, changed, notes: notes.sorted(), stillNeeded };
}

/** Whether a text has no syntax error. */
function parses(path: string, text: string): boolean {
  const { diagnostics } = ts.transpileModule(text, {
    fileName: path,
    reportDiagnostics: true,
    compilerOptions: { experimentalDecorators: true },
  });
  return (diagnostics ?? []).length === 0;
}
