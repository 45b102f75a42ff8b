import { type ClassDeclaration, Node } from 'ts-morph';
import { referencesTo, type ThrottlerFile } from './app.js';
import type { FileRewrite } from './file-rewrite.js';
import { baseOf } from './guard-classes.js';
import type { Notes } from './notes.js';

/** What a subclass may override, and what takes its place. */
const COUNTERPARTS: Readonly<Record<string, string>> = {
  throwThrottlingException: 'refuse(context, decision)',
  getErrorMessage: 'refuse(context, decision)',
  handleRequest: 'RateLimiter.consume, or setHeaders and refuse',
  generateKey: 'scope and by of the policies',
  getRequestResponse: 'nothing: RateLimitGuard finds the request by itself',
  setResponseHeader: 'setHeaders(context, decision)',
  onModuleInit: 'nothing: RateLimitGuard has no such step',
  canActivate: 'canActivate(context), whose answer may be no promise',
};

/** Rewrites the references to ThrottlerGuard. */
export function rewriteGuards(rewrite: FileRewrite, file: ThrottlerFile, notes: Notes): void {
  for (const reference of referencesTo(file, 'ThrottlerGuard')) {
    if (Node.isNewExpression(reference.getParent())) {
      notes.add(reference, 'a RateLimitGuard cannot be made with new: bind it with APP_GUARD, @UseGuards or app.get()');
    }
    if (!rewrite.edits.covers(reference)) rewrite.edits.replace(reference, rewrite.use('RateLimitGuard'));
  }
}

/**
 * Rewrites a class that extends ThrottlerGuard, perhaps by a class between.
 *
 * @param guards all such classes
 */
export function rewriteSubclass(
  rewrite: FileRewrite,
  owner: ClassDeclaration,
  guards: ReadonlySet<ClassDeclaration>,
  notes: Notes,
): void {
  const isTypeScript = /\.[cm]?ts$/.test(owner.getSourceFile().getFilePath());
  for (const [method, counterpart] of Object.entries(COUNTERPARTS)) {
    const found = owner.getInstanceMethod(method);
    if (found !== undefined) notes.add(found, `${owner.getName()}.${method}: in place of it stands ${counterpart}`);
  }
  for (const member of owner.getConstructors()) {
    notes.add(member, `${owner.getName()}: RateLimitGuard has no arguments; call super() without any`);
  }
  const tracker = owner.getInstanceMethod('getTracker');
  // The identityTag of a class between calls this method, too.
  if (tracker === undefined || inheritsTracker(owner, guards)) return;
  const override = tracker.getModifiers().find((modifier) => modifier.getText() === 'override');
  if (override !== undefined) rewrite.edits.remove(override);
  const indent = ' '.repeat(tracker.getStart() - tracker.getStartLinePos());
  const args = ['context.switchToHttp().getRequest()', 'context'].slice(0, tracker.getParameters().length).join(', ');
  const context = isTypeScript ? `context: ${rewrite.use('ExecutionContext', '@nestjs/common', true)}` : 'context';
  const policy = isTypeScript ? `_policy: ${rewrite.use('BoundPolicy', 'nestjs-floodgate', true)}` : '_policy';
  const signature = isTypeScript
    ? `protected override async identityTag(${policy}, ${context}): Promise<string>`
    : `async identityTag(${policy}, ${context})`;
  rewrite.edits.insert(
    tracker.getStart(),
    `${signature} {\n${indent}  return ${rewrite.use('identityTag')}({ kind: 'tracker', value: await this.getTracker(${args}) });\n${indent}}\n\n${indent}`,
  );
  if (tracker.getDescendants().some((node) => Node.isSuperExpression(node))) {
    notes.add(
      tracker,
      `${owner.getName()}.getTracker calls super, which RateLimitGuard does not have: request.ip takes its place`,
    );
  }
}

function inheritsTracker(owner: ClassDeclaration, guards: ReadonlySet<ClassDeclaration>): boolean {
  const base = baseOf(owner);
  if (base === undefined || !guards.has(base)) return false;
  return base.getInstanceMethod('getTracker') !== undefined || inheritsTracker(base, guards);
}
