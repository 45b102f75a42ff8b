import { type ClassDeclaration, type Expression, Node, type SourceFile, SyntaxKind } from 'ts-morph';
import { type App, appGuardProvider, referencesTo, type ThrottlerFile } from './app.js';
import { asRequestFunction, called } from './expressions.js';
import type { FileRewrite } from './file-rewrite.js';
import { CREATE } from './module-config.js';
import type { Notes } from './notes.js';
import { isDynamic, type PolicyWriter } from './throttlers.js';

/** The guard that leaves out what `skipIf` and `ignoreUserAgents` of the module left out. */
const SKIPPING_GUARD = 'SkippingRateLimitGuard';

/** Rewrites the call of `ThrottlerModule.forRoot`, in the file that has it. */
export class ModuleRewriter {
  private readonly skips: boolean;

  constructor(
    private readonly app: App,
    private readonly writer: PolicyWriter,
    private readonly notes: Notes,
  ) {
    const { options } = app.module;
    this.skips = options.has('skipIf') || options.has('ignoreUserAgents');
  }

  /** @param scoped whether a class names policies, whose routes then still count one by one */
  rewrite(rewriteOf: (file: SourceFile) => FileRewrite, scoped: boolean): void {
    const { call, isAsync, literal, factory } = this.app.module;
    const rewrite = rewriteOf(call.getSourceFile());
    const { edits } = rewrite;
    const callee = call.getExpression();
    if (!Node.isPropertyAccessExpression(callee)) return;
    edits.replace(callee.getExpression(), rewrite.use('RateLimitModule'));
    const ofOptions = rewriteOf(literal.getSourceFile());
    if (factory !== undefined) this.rewriteFactory(ofOptions, factory);
    const owner = factory ?? call;
    const isInPlace = literal.getFirstAncestor((node) => node === owner) !== undefined;
    const line = (factory === undefined || !isInPlace ? callee : literal).getStartLineNumber();
    const indent = /^\s*/.exec(
      (factory === undefined ? edits : ofOptions.edits).file.getFullText().split('\n')[line - 1]!,
    )![0];
    const fields = this.fields(ofOptions, scoped);
    // The guard stays where the application binds it: the module's own would run behind authentication.
    if (!isAsync) fields.unshift('guard: false');
    else {
      const object = call.getArguments()[0]!.asKindOrThrow(SyntaxKind.ObjectLiteralExpression);
      edits.insert(object.getStart() + 1, ' guard: false,');
    }
    const inner = `${indent}  `;
    const text = `{\n${fields.map((field) => `${inner}${field.replaceAll('\n', `\n${inner}`)},\n`).join('')}${indent}}`;
    if (isInPlace) ofOptions.edits.replace(literal, isBodyOfArrow(literal) ? `(${text})` : text);
    else {
      // A const with the options: the policies stand where it was used.
      ofOptions.edits.replace(isAsync ? literal : call.getArguments()[0]!, text);
      this.notes.add(
        literal,
        'the throttlers here became policies of RateLimitModule: remove them if nothing else uses them',
      );
    }
    if (this.skips) this.addSkippingGuard(rewrite);
  }

  /** The guard for all routes: where requests are skipped it is a class of the application. */
  rewriteProviders(rewrite: FileRewrite, file: ThrottlerFile): void {
    if (!this.skips) return;
    for (const reference of referencesTo(file, 'ThrottlerGuard')) {
      const provider = appGuardProvider(reference);
      if (provider === undefined) continue;
      const isHere = file.file === this.app.module.call.getSourceFile();
      if (isHere) rewrite.edits.replace(reference, SKIPPING_GUARD);
      else this.notes.add(provider, `bind ${SKIPPING_GUARD} here, which stands beside RateLimitModule.forRoot now`);
    }
  }

  private fields(rewrite: FileRewrite, scoped: boolean): string[] {
    const { module } = this.app;
    const at = module.factory === undefined ? module.call : module.literal;
    const scope = scoped ? ["scope: 'route'"] : [];
    const fixed = module.throttlers.filter(({ options }) => !isDynamic(options));
    const policies = fixed.map(({ name, options, comments }) => {
      const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`;
      return [...comments, `${key}: ${this.writer.policy(options, at, name, false, scope)},`]
        .map((line) => `\n  ${line}`)
        .join('');
    });
    const defaults = module.throttlers.map(({ name, options }) =>
      isDynamic(options) ? this.writer.policy(options, at, name, true) : `'${name}'`,
    );
    const fields = [`policies: {${policies.join('')}\n}`, `defaults: [${defaults.join(', ')}]`];
    const { options } = module;
    const tracker = options.get('getTracker');
    if (tracker !== undefined) {
      fields.push(`identity: [{ kind: 'tracker', resolve: ${asRequestFunction(tracker)} }]`);
    }
    const prefix = options.get('ipv6SubnetPrefix');
    if (prefix !== undefined && tracker === undefined) {
      fields.push(`identity: [${rewrite.use('ipIdentity')}({ ipv6Prefix: ${prefix.getText()} })]`);
    }
    fields.push(`headers: ${headersOf(options.get('setHeaders'))}`);
    const storage = options.get('storage');
    if (storage !== undefined) fields.push(...this.storage(rewrite, storage));
    this.noteLost();
    return fields;
  }

  /** Renames the method of the class that makes the options, and the types that it is declared with. */
  private rewriteFactory(rewrite: FileRewrite, factory: ClassDeclaration): void {
    const { edits } = rewrite;
    const method = factory.getInstanceMethod(CREATE);
    if (method === undefined) return;
    edits.replace(method.getNameNode(), 'createRateLimitOptions');
    const named = method.getReturnTypeNode()?.getDescendantsOfKind(SyntaxKind.Identifier) ?? [];
    for (const type of named) {
      if (type.getText() === 'ThrottlerModuleOptions') {
        edits.replace(type, rewrite.use('RateLimitModuleOptions', 'nestjs-floodgate', true));
      }
    }
    const clause = factory.getHeritageClauseByKind(SyntaxKind.ImplementsKeyword);
    const own = clause?.getTypeNodes().find((type) => type.getText() === 'ThrottlerOptionsFactory');
    if (clause === undefined || own === undefined) return;
    if (clause.getTypeNodes().length === 1) edits.remove(clause);
    else edits.removeElement(own);
  }

  private storage(rewrite: FileRewrite, storage: Expression): string[] {
    if (Node.isNewExpression(storage) && storage.getExpression().getText() === 'ThrottlerStorageRedisService') {
      const [redis] = storage.getArguments();
      rewrite.forget('ThrottlerStorageRedisService');
      return [`redis: ${redis?.getText() ?? "'redis://localhost:6379'"}`];
    }
    this.notes.add(
      storage,
      'storage is dropped: give redis, or a RateLimitStore as store. Until then each process counts for itself',
    );
    return [];
  }

  private noteLost(): void {
    const { options } = this.app.module;
    const message = options.get('errorMessage');
    if (message !== undefined) {
      this.notes.add(
        message,
        'errorMessage has no counterpart: throw a RateLimitExceededException of your own in refuse of a RateLimitGuard, or write an exception filter',
      );
    }
    const key = options.get('generateKey');
    if (key !== undefined)
      this.notes.add(
        key,
        'generateKey of the module is dropped: say with by and scope of a policy what counts together',
      );
  }

  /** Puts a guard before the class of the module. */
  private addSkippingGuard(rewrite: FileRewrite): void {
    const { call, options } = this.app.module;
    const statement = call
      .getAncestors()
      .findLast((node) => Node.isStatement(node) && Node.isSourceFile(node.getParent()));
    const conditions: string[] = [];
    const agents = options.get('ignoreUserAgents');
    if (agents !== undefined) {
      const agent = `context.switchToHttp().getRequest().headers['user-agent']`;
      conditions.push(`${agents.getText()}.some((pattern) => pattern.test(${agent}))`);
    }
    const skipIf = options.get('skipIf');
    if (skipIf !== undefined) conditions.push(called(skipIf, ['context']));
    const isTypeScript = /\.[cm]?ts$/.test(call.getSourceFile().getFilePath());
    const signature = isTypeScript
      ? `protected override shouldSkip(context: ${rewrite.use('ExecutionContext', '@nestjs/common', true)}): boolean`
      : 'shouldSkip(context)';
    rewrite.edits.insert(
      (statement ?? call).getStart(),
      `@${rewrite.use('Injectable', '@nestjs/common')}()\nclass ${SKIPPING_GUARD} extends ${rewrite.use('RateLimitGuard')} {\n` +
        `  ${signature} {\n    return ${conditions.join(' || ')};\n  }\n}\n\n`,
    );
    if ([agents, skipIf].some((one) => one !== undefined && one.getSourceFile() !== call.getSourceFile())) {
      this.notes.add(call, `${SKIPPING_GUARD} has functions of another file: import what they name`);
    }
    if (!this.app.bindsGuard) {
      this.notes.add(
        call,
        `bind ${SKIPPING_GUARD} where ThrottlerGuard was bound: it leaves out what skipIf and ignoreUserAgents left out`,
      );
    }
  }
}

/** Whether an object in the place of a literal would be the block of an arrow function. */
function isBodyOfArrow(literal: Node): boolean {
  return literal
    .getAncestors()
    .some((one) => Node.isArrowFunction(one) && one.getBody().getStart() === literal.getStart());
}

/** The option `headers` for an option `setHeaders`: clients go on seeing throttler's header names. */
function headersOf(setHeaders: Expression | undefined): string {
  if (setHeaders === undefined || Node.isTrueLiteral(setHeaders)) return "'throttler'";
  if (Node.isFalseLiteral(setHeaders)) return 'false';
  return `(${setHeaders.getText()}) ? 'throttler' : false`;
}
