import { type ClassDeclaration, type Decorator, type Expression, type MethodDeclaration, Node } from 'ts-morph';
import type { App, ThrottlerFile } from './app.js';
import { propertiesOf, resolved } from './expressions.js';
import type { FileRewrite } from './file-rewrite.js';
import type { Notes } from './notes.js';
import { isDynamic, type Options, type PolicyWriter } from './throttlers.js';

/** What the decorators of a class or a method say, by the names of throttlers. */
interface Said {
  readonly decorators: readonly Decorator[];
  readonly overrides: ReadonlyMap<string, Options>;
  readonly skips: ReadonlyMap<string, boolean>;
}

const NOTHING: Said = { decorators: [], overrides: new Map(), skips: new Map() };

/** Rewrites `@Throttle` and `@SkipThrottle` to `@RateLimit` and `@SkipRateLimit`. */
export class DecoratorRewriter {
  /** Whether a class names policies of the module. */
  namesOnClass = false;

  constructor(
    private readonly app: App,
    private readonly writer: PolicyWriter,
    private readonly notes: Notes,
  ) {}

  rewrite(rewrite: FileRewrite, file: ThrottlerFile): void {
    for (const owner of file.file.getDescendants().filter(Node.isClassDeclaration)) {
      const shared = this.read(owner, file);
      if (shared !== undefined && shared.decorators.length > 0) this.replace(rewrite, owner, shared, NOTHING);
      for (const method of owner.getMethods()) {
        const own = this.read(method, file);
        if (own !== undefined && own.decorators.length > 0) this.replace(rewrite, method, own, shared ?? NOTHING);
      }
    }
  }

  private replace(rewrite: FileRewrite, at: ClassDeclaration | MethodDeclaration, own: Said, shared: Said): void {
    const { throttlers } = this.app.module;
    const isClass = Node.isClassDeclaration(at);
    const unknown = new Set(
      [...own.overrides.keys(), ...own.skips.keys()].filter((name) => !throttlers.some((one) => one.name === name)),
    );
    for (const name of unknown)
      this.notes.add(own.decorators[0]!, `there is no throttler '${name}', so this had no effect, and is gone`);

    const left = throttlers.filter(({ name }) => !(own.skips.get(name) ?? shared.skips.get(name) ?? false));
    const policies = left.map(({ name, options }) => {
      const over = merged(shared.overrides.get(name), own.overrides.get(name));
      if (over.size === 0 && !isDynamic(options)) {
        this.namesOnClass ||= isClass;
        return `'${name}'`;
      }
      const all = new Map([...options, ...over]);
      return this.writer.policy(all, at, name, true, isClass ? ["scope: 'route'"] : []);
    });
    const [first, ...rest] = own.decorators;
    const isUnchanged = left.length === throttlers.length && policies.every((text) => text.startsWith("'"));
    const removed = isUnchanged && shared.decorators.length === 0 ? own.decorators : rest;
    for (const decorator of removed) rewrite.edits.remove(decorator);
    if (removed.length > rest.length) {
      this.notes.add(first!, 'this skipped no throttler and is gone: @SkipRateLimit() leaves out all policies');
    } else {
      const text =
        policies.length === 0
          ? `@${rewrite.use('SkipRateLimit')}()`
          : `@${rewrite.use('RateLimit')}(${listed(policies, first!)})`;
      rewrite.edits.replace(first!, text);
    }
  }

  /** Undefined when a decorator cannot be read; it then stays. */
  private read(node: ClassDeclaration | MethodDeclaration, file: ThrottlerFile): Said | undefined {
    const decorators: Decorator[] = [];
    const overrides = new Map<string, Options>();
    const skips = new Map<string, boolean>();
    // The lowest one is applied first.
    for (const decorator of node.getDecorators().toReversed()) {
      const name = file.sources.map(({ names }) => names.get(decorator.getName())).find((one) => one !== undefined);
      if (name !== 'Throttle' && name !== 'SkipThrottle') continue;
      const [argument] = decorator.getArguments() as Expression[];
      const isRead = name === 'Throttle' ? readThrottle(argument, overrides) : readSkip(argument, skips);
      if (!isRead) {
        this.notes.add(
          decorator,
          `@${name} has no literal argument, and stays without effect: write @RateLimit or @SkipRateLimit`,
        );
        return undefined;
      }
      decorators.unshift(decorator);
    }
    return { decorators, overrides, skips };
  }
}

function readThrottle(argument: Expression | undefined, overrides: Map<string, Options>): boolean {
  const literal = argument && resolved(argument);
  const byName = Node.isObjectLiteralExpression(literal) ? propertiesOf(literal) : undefined;
  for (const [name, value] of byName ?? []) {
    const override = resolved(value);
    const options = Node.isObjectLiteralExpression(override) ? propertiesOf(override) : undefined;
    if (options === undefined) return false;
    overrides.set(name, options);
  }
  return byName !== undefined;
}

function readSkip(argument: Expression | undefined, skips: Map<string, boolean>): boolean {
  if (argument === undefined) {
    skips.set('default', true);
    return true;
  }
  const literal = resolved(argument);
  const byName = Node.isObjectLiteralExpression(literal) ? propertiesOf(literal) : undefined;
  for (const [name, value] of byName ?? []) {
    if (!Node.isTrueLiteral(value) && !Node.isFalseLiteral(value)) return false;
    skips.set(name, Node.isTrueLiteral(value));
  }
  return byName !== undefined;
}

function merged(shared: Options = new Map(), own: Options = new Map()): Options {
  return new Map([...shared, ...own]);
}

/** In one line where they fit it, else each on a line of its own. */
function listed(policies: readonly string[], decorator: Decorator): string {
  const line = policies.join(', ');
  if (line.length <= 90 || policies.length === 1) return line;
  const indent = ' '.repeat(decorator.getStart() - decorator.getStartLinePos());
  return `\n${policies.map((policy) => `${indent}  ${policy},\n`).join('')}${indent}`;
}
