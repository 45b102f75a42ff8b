import { type ArrayLiteralExpression, type Expression, Node, type SourceFile } from 'ts-morph';
import {
  argumentsOf,
  behindRequest,
  called,
  isFunction,
  isSelfContained,
  millisecondsOf,
  parametersFor,
  propertiesOf,
  windowText,
} from './expressions.js';
import type { Notes } from './notes.js';

/** The options of a throttler, or of a decorator on it. */
export type Options = ReadonlyMap<string, Expression>;

/** One entry of `throttlers`. */
export interface Throttler {
  readonly name: string;
  readonly options: Options;
  /** Comments before it. */
  readonly comments: readonly string[];
}

/** The throttlers that a list declares; undefined when a part of it cannot be read. */
export function throttlersIn(list: ArrayLiteralExpression): Throttler[] | undefined {
  const found: Throttler[] = [];
  for (const element of list.getElements()) {
    const options = Node.isObjectLiteralExpression(element) ? propertiesOf(element) : undefined;
    const name = options?.get('name');
    if (options === undefined || (name !== undefined && !Node.isStringLiteral(name))) return undefined;
    const comments = element.getLeadingCommentRanges().map((comment) => comment.getText());
    found.push({ name: name === undefined ? 'default' : name.getLiteralValue(), options, comments });
  }
  return found;
}

/**
 * The throttlers as `ThrottlerGuard` asks them: the shortest `ttl` first. With `headers: 'throttler'` a rejection shows those that
 * stand before it. They keep their order where a `ttl` is not known here.
 */
export function inOrder(
  throttlers: readonly Throttler[],
  exportedName: (local: string) => string | undefined,
): readonly Throttler[] {
  const known = throttlers.flatMap((throttler) => {
    const ttl = throttler.options.get('ttl');
    const ms = ttl && millisecondsOf(ttl, exportedName);
    return ms === undefined ? [] : [{ throttler, ms }];
  });
  if (known.length < throttlers.length) return throttlers;
  return known.toSorted((a, b) => a.ms - b.ms).map(({ throttler }) => throttler);
}

/** What stands for a window that cannot be carried over. Boot refuses it, as it refuses limit 0, so that nobody forgets it. */
const UNDECIDED = "'?'";

/** Writes policies in place of throttlers. */
export class PolicyWriter {
  constructor(
    private readonly notes: Notes,
    private readonly exportedName: (file: SourceFile, local: string) => string | undefined,
  ) {}

  /**
   * A policy as text.
   *
   * @param options those of the throttler, and over them those of decorators
   * @param at where the policy will stand
   * @param name left out where it is a key of `policies`
   * @param fields other fields, as `scope: 'route'`
   */
  policy(options: Options, at: Node, throttler: string, named: boolean, fields: readonly string[] = []): string {
    // What counts across routes needs another name than what counts route by route.
    const name = options.has('generateKey') ? `${throttler}-by-key` : throttler;
    const all = named ? [`name: '${name}'`] : [];
    all.push("algorithm: 'sliding-window-log'", this.limit(options, at), this.window(options, at));
    all.push(...this.block(options, at));
    const text = `{ ${[...all, ...this.identity(options, at, throttler), ...this.skip(options, at), ...fields].join(', ')} }`;
    this.noteLost(options, throttler);
    if (!isDynamic(options)) return text;
    const args = functionsIn(options).flatMap((number) => argumentsOf(number, ['context']));
    return `async ${parametersFor(args, at)} => (${text})`;
  }

  private limit(options: Options, at: Node): string {
    const limit = options.get('limit');
    if (limit === undefined || !this.reaches(limit, at, 'limit')) return 'limit: 0';
    if (!isFunction(limit)) return `limit: ${Node.isStringLiteral(limit) ? limit.getLiteralValue() : limit.getText()}`;
    this.notes.add(
      limit,
      'limit is a function: it became a function that chooses a policy. If it fails, the defaults apply',
    );
    return `limit: await ${called(limit, ['context'])}`;
  }

  private window(options: Options, at: Node): string {
    const ttl = options.get('ttl');
    if (ttl === undefined || !this.reaches(ttl, at, 'ttl')) return `window: ${UNDECIDED}`;
    if (!isFunction(ttl)) return `window: ${this.duration(ttl)}`;
    this.notes.add(ttl, 'ttl is a function: it became a function that chooses a policy. Each window counts for itself');
    return `window: await ${called(ttl, ['context'])}`;
  }

  private block(options: Options, at: Node): string[] {
    const block = options.get('blockDuration');
    const ttl = options.get('ttl');
    if (block === undefined) return [];
    if (isFunction(block)) {
      this.notes.add(
        block,
        'blockDuration is a function: it is left out. Write a blockFor, such as the longest that it returns',
      );
      return [];
    }
    const blockMs = this.milliseconds(block);
    const ttlMs = ttl && this.milliseconds(ttl);
    if (blockMs === 0) return [];
    if (blockMs !== undefined && ttlMs !== undefined && blockMs < ttlMs) {
      this.notes.add(
        block,
        `blockDuration ${block.getText()} is shorter than its ttl ${ttl!.getText()}: it is left out. Throttler forgets the requests before such a block, and a policy counts them until they leave the window`,
      );
      return [];
    }
    return this.reaches(block, at, 'blockDuration') ? [`blockFor: ${this.duration(block)}`] : [];
  }

  private identity(options: Options, at: Node, throttler: string): string[] {
    const getTracker = options.get('getTracker');
    const generateKey = options.get('generateKey');
    const tracker = getTracker !== undefined && this.reaches(getTracker, at, 'getTracker') ? getTracker : undefined;
    const trackerArgs = tracker === undefined ? ['request'] : argumentsOf(tracker, ['request', 'context']);
    const tracked = tracker === undefined ? 'request.ip' : `await ${called(tracker, trackerArgs)}`;
    if (generateKey !== undefined && this.reaches(generateKey, at, 'generateKey')) {
      this.notes.add(
        generateKey,
        `generateKey became the identity of a policy with scope 'app': policies with one name count together where their keys are equal. Give a policy a name of its own where it should count alone`,
      );
      const args = argumentsOf(generateKey, ['context', tracked, `'${throttler}'`]);
      const parameters = parametersFor([...args, ...(args.includes(tracked) ? trackerArgs : [])], at);
      return [
        "scope: 'app'",
        `by: async ${parameters} => ({ kind: 'key-of-app', value: ${called(generateKey, args)} })`,
      ];
    }
    return tracker === undefined
      ? []
      : [`by: async ${parametersFor(trackerArgs, at)} => ({ kind: 'tracker', value: ${tracked} })`];
  }

  private skip(options: Options, at: Node): string[] {
    const skipIf = options.get('skipIf');
    return skipIf !== undefined && this.reaches(skipIf, at, 'skipIf') ? [`skipIf: ${behindRequest(skipIf)}`] : [];
  }

  /** Whether an expression can be written at a place. */
  private reaches(expression: Expression, at: Node, option: string): boolean {
    if (expression.getSourceFile() === at.getSourceFile() || isSelfContained(expression)) return true;
    const call = Node.isCallExpression(expression) ? expression.getExpression().getText() : '';
    if (call !== '' && this.duration(expression) !== expression.getText()) return true;
    this.notes.add(at, `${option} of the module, ${expression.getText()}, is out of reach here: write it down`);
    return false;
  }

  /** A number of milliseconds as a duration of a policy. */
  private duration(given: Expression): string {
    return windowText(given, (local) => this.exportedName(given.getSourceFile(), local));
  }

  private milliseconds(given: Expression): number | undefined {
    return millisecondsOf(given, (local) => this.exportedName(given.getSourceFile(), local));
  }

  private noteLost(options: Options, throttler: string): void {
    const headers = options.get('setHeaders');
    if (headers !== undefined)
      this.notes.add(headers, `setHeaders of '${throttler}': headers are an option of the module alone`);
    const agents = options.get('ignoreUserAgents');
    if (agents !== undefined) {
      this.notes.add(agents, `ignoreUserAgents of '${throttler}': write a skipIf for its policy`);
    }
  }
}

/** Whether the numbers depend on the request. */
export function isDynamic(options: Options): boolean {
  return functionsIn(options).length > 0;
}

/** The numbers that are functions of the request. */
function functionsIn(options: Options): Expression[] {
  return ['limit', 'ttl'].flatMap((option) => {
    const value = options.get(option);
    return value !== undefined && isFunction(value) ? [value] : [];
  });
}
