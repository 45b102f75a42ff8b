import { type CanActivate, Logger, type OnModuleInit, type Type } from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import type { ApplicationConfig, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { withHelp } from '../../util/error-codes.js';
import { classOf, prototypeOf } from '../../util/foreign.js';
import { type LimitableHandler, limitableHandlers } from '../contexts/limitable-handlers.js';
import { firstNames } from '../handlers/first-names.js';
import { globalGuards } from '../guard/application-guard.js';
import { GlobalGuards } from './global-guards.js';
import { WAYS_OUT } from '../guard/late-identities.js';
import { isGuardClass, RateLimitGuard } from '../guard/rate-limit.guard.js';
import type { RateLimitRuntime } from '../guard/rate-limit.runtime.js';
import type { BoundPolicy } from '../types.js';

/** The guards before and after the rate limit's, for one handler. */
interface Order {
  readonly before: readonly Type[];
  readonly after: readonly Type[];
}

/** A policy that needs an authentication which comes later, and the handlers where it stands. */
interface Finding {
  readonly policy: string;
  readonly reads: string;
  readonly guard: string;
  readonly handlers: string[];
}

/** Names of guards that authenticate. */
const AUTHENTICATES =
  /auth|jwt|passport|log[io]n|sign(?:ed)?-?in|session|token|bearer|api-?key|credential|oidc|saml|sso/i;
/** Names of guards that authorize, or that check something else. */
const SOMETHING_ELSE = /authori[sz]|role|permission|scope|polic|abilit|owner|csrf|xsrf|captcha|throttl/i;

/**
 * Warns at boot of policies that need authentication, and run before it. Nest does not tell the purpose of a guard, so the
 * check is narrow. It warns if no guard that may find the user runs before the rate limit's, a later guard has the name of an
 * authentication guard, and a policy counts by `'user'` or `'api-key'` or has a function that reads a property `user`.
 * `LateIdentities` finds other cases at run time.
 */
export class GuardOrder implements OnModuleInit {
  constructor(
    private readonly runtime: RateLimitRuntime,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly application: ApplicationConfig,
  ) {}

  async onModuleInit(): Promise<void> {
    // Nest 11 begins all hooks of a module at once. What the runtime says of the module comes before what this finds in its routes.
    await Promise.resolve();
    const logger = new Logger('RateLimit');
    const found = new Map<string, Finding>();
    const handlers = [...limitableHandlers(this.discovery, this.scanner, this.runtime.contexts)];
    for (const handler of handlers) this.find(handler, found);
    for (const finding of found.values()) logger.warn(withHelp(messageOf(finding), 'FG_IDENTITY_LATE'));
    const inVain = guardsInVain(this.application, handlers);
    if (inVain !== undefined) logger.warn(withHelp(inVain, 'FG_OPTION_WITHOUT_EFFECT'));
    for (const policy of this.runtime.middleware?.unconditional ?? []) {
      const reads = this.readsOf(policy);
      if (reads !== undefined) logger.warn(withHelp(messageOfMiddleware(policy, reads), 'FG_IDENTITY_LATE'));
    }
  }

  private find({ type, handler, adapter, name }: LimitableHandler, found: Map<string, Finding>): void {
    const route = this.runtime.routes.of(type, handler);
    if (route === undefined) return;
    const { before, after } = orderOf(this.application, type, handler, adapter.type);
    const guard = after.find(authenticates);
    if (guard === undefined || before.length > 0) return;
    for (const policy of route.unconditional) {
      const reads = this.readsOf(policy);
      if (reads === undefined) continue;
      const key = `${guard.name}\n${policy.name}\n${reads}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, { policy: policy.name, reads, guard: nameOf(guard), handlers: [name] });
      else known.handlers.push(name);
    }
  }

  /** What a policy needs from authentication; undefined if it needs nothing. */
  private readsOf(policy: BoundPolicy): string | undefined {
    const { by, cost, skipIf, plans, timeZone } = policy;
    // A policy with `onMissingIdentity: 'ip'` of its own expects requests without an identity.
    if (policy.onMissingIdentity !== 'ip' && this.isAskedBy(policy)) {
      return `counts by ${typeof by === 'function' ? 'a function that reads the user' : `'${by}'`}`;
    }
    const functions = { cost, skipIf, timeZone, plan: plans && this.runtime.options.plan?.resolve };
    for (const [option, one] of Object.entries(functions)) {
      if (readsUser(one)) return `has a function of the user (${option === 'plan' ? "the module's plan" : option})`;
    }
    return undefined;
  }

  private isAskedBy(policy: BoundPolicy): boolean {
    const { by } = policy;
    const asksForKind = by === 'user' || by === 'api-key';
    return this.runtime.identities.sourcesOf(policy).some((source) => {
      if (typeof source === 'function') return readsUser(source);
      if (source.header !== undefined) return false;
      return readsUser(source.resolve) || (asksForKind && !isAsync(source.resolve));
    });
  }
}

/** The order of a handler's guards. Both lists are empty if the rate limit's guard is not among them. */
function orderOf(application: ApplicationConfig, type: Type, handler: object, context: string): Order {
  const global = [
    ...application.getGlobalGuards(),
    ...application.getGlobalRequestGuards().map(({ metatype }) => metatype as unknown),
  ];
  const own = [...guardsOf(type), ...guardsOf(handler)];
  // Whether Nest calls global guards for messages depends on its version and on the application. Where it does not, the module has
  // bound them to the method.
  const guards = context === 'rpc' || context === 'ws' ? own : [...global, ...own];
  const ours = guards.findIndex((guard) => guard === GlobalGuards || isGuardClass(guard));
  if (ours === -1) return { before: [], after: [] };
  const others = (some: readonly unknown[]): Type[] =>
    some.filter((guard) => guard !== GlobalGuards && !isGuardClass(guard)).map(typeOf);
  return { before: others(guards.slice(0, ours).filter(mayAuthenticate)), after: others(guards.slice(ours)) };
}

/** Whether a guard may find the user. What nestjs-cls binds for all routes does not: ClsGuard, or `{ canActivate: () => true }`. */
function mayAuthenticate(guard: unknown): boolean {
  const type = classOf(Object(guard) as object) as Type | undefined;
  if (type === Object) return (guard as Partial<CanActivate> | undefined)?.canActivate?.length !== 0;
  return type?.name !== 'ClsGuard';
}

function guardsOf(place: object): readonly unknown[] {
  return (Reflect.getMetadata(GUARDS_METADATA, place) as readonly unknown[] | undefined) ?? [];
}

function typeOf(guard: unknown): Type {
  return (typeof guard === 'function' ? guard : (classOf(Object(guard) as object) ?? Object)) as Type;
}

/** Whether a guard authenticates: it is Passport's, or the name of its class or of a base class says so. */
function authenticates(guard: Type): boolean {
  if (!isOfPassport(guard) && SOMETHING_ELSE.test(guard.name)) return false;
  for (let type: unknown = guard; typeof type === 'function'; type = Reflect.getPrototypeOf(type)) {
    if (isOfPassport(type) || AUTHENTICATES.test(type.name)) return true;
  }
  return false;
}

/** Whether a class is what `AuthGuard('jwt')` of @nestjs/passport returns. Its name is random. */
function isOfPassport(type: object): boolean {
  const prototype = prototypeOf(type);
  return (
    prototype !== undefined && Object.hasOwn(prototype, 'getAuthenticateOptions') && Object.hasOwn(prototype, 'logIn')
  );
}

function nameOf(guard: Type): string {
  return isOfPassport(guard) ? "Passport's AuthGuard" : guard.name;
}

/**
 * A warning of the rate limit's guards on classes and methods where the module's own guard comes first: a request is charged once.
 * A subclass that is bound for all routes may leave requests to them.
 */
function guardsInVain(application: ApplicationConfig, all: readonly LimitableHandler[]): string | undefined {
  if (!globalGuards(application).some((guard) => classOf(guard) === RateLimitGuard)) return undefined;
  const bound = all.flatMap(({ type, handler, name }) => {
    const guards = [...guardsOf(type), ...guardsOf(handler)].filter(isGuardClass);
    return guards.length === 0 ? [] : [{ name, guards: guards.map((guard) => typeOf(guard).name) }];
  });
  if (bound.length === 0) return undefined;
  const guards = [...new Set(bound.flatMap((one) => one.guards))];
  const isOne = guards.length === 1;
  return (
    `${firstNames(bound.map(({ name }) => name))}: ${guards.join(' and ')} ${isOne ? 'has' : 'have'} no effect there, because a ` +
    `RateLimitGuard is bound for all routes and decides before. Leave ${isOne ? 'it' : 'them'} out; or bind none for all routes ` +
    `(guard: false in RateLimitModule), and one wherever a policy stands`
  );
}

/**
 * Whether a function reads `user` of something, judged by its source text: `request.user`, `const { user } = request`, or `({
 * user }) => ...`.
 */
function readsUser(given: unknown): boolean {
  if (typeof given !== 'function') return false;
  const text = Function.prototype.toString.call(given);
  if (/\.user\b|\[['"]user['"]\]/.test(text)) return true;
  return /[{,]\s*user\s*(?:[,}]|:\s*\w+\s*[,}])[^=;]*=[^=>]/.test(text) || takesUser(text);
}

/** Whether the first parameter takes `user` out of the request: as `{ user }`, `{ user: { id } }` or `{ user = NOBODY }`. */
function takesUser(text: string): boolean {
  const pattern = /^[^({=]*\(\s*\{(?<members>[^)]*)/.exec(text)?.groups!.members;
  if (pattern === undefined) return false;
  let depth = 0;
  let own = '{';
  for (const character of pattern) {
    if (character === '{') depth++;
    else if (character === '}' && --depth < 0) break;
    else if (depth === 0) own += character;
  }
  return /[{,]\s*user\s*(?:[:=,]|$)/.test(own);
}

/** Whether a resolver is asynchronous. It then looks its identity up itself: `request.user` can be read at once. */
function isAsync(resolve: (...args: never) => unknown): boolean {
  return resolve.constructor.name === 'AsyncFunction';
}

function messageOf({ policy, reads, guard, handlers }: Finding): string {
  return (
    `${firstNames(handlers)}: policy '${policy}' ${reads}, but the rate limit's guard runs before ` +
    `${guard}, so that there is no user yet. ${WAYS_OUT}`
  );
}

function messageOfMiddleware({ name }: BoundPolicy, reads: string): string {
  return (
    `RateLimitModule, middleware: policy '${name}' ${reads}, but the middleware runs before authentication, so that there is no ` +
    `user yet. Count addresses there (by: 'ip'), and users on routes`
  );
}
