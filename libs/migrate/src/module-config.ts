import {
  type ArrayLiteralExpression,
  type CallExpression,
  type ClassDeclaration,
  type Expression,
  Node,
  type ObjectLiteralExpression,
  SyntaxKind,
} from 'ts-morph';
import { propertiesOf, resolved } from './expressions.js';
import { type Options, type Throttler, throttlersIn } from './throttlers.js';

/** A call of `ThrottlerModule.forRoot` or `forRootAsync`. */
export interface ModuleCall {
  readonly call: CallExpression;
  readonly isAsync: boolean;
  /** The literal with the options, which policies take the place of. */
  readonly literal: ArrayLiteralExpression | ObjectLiteralExpression;
  /** The class that makes the options, for `useClass` and `useExisting`. */
  readonly factory: ClassDeclaration | undefined;
  /** The options beside `throttlers`. */
  readonly options: Options;
  readonly throttlers: readonly Throttler[];
}

/** Reads a call; a text says why it cannot be read. */
export function readModuleCall(call: CallExpression, isAsync: boolean): ModuleCall | string {
  const [argument] = call.getArguments() as Expression[];
  const factory = isAsync ? factoryClass(argument) : undefined;
  const literal = isAsync ? returned(argument, factory) : argument && resolved(argument);
  if (!Node.isArrayLiteralExpression(literal) && !Node.isObjectLiteralExpression(literal)) {
    return isAsync
      ? 'the options do not come from a useFactory, or a class of the application, that returns a literal'
      : 'the options are not a literal, nor a const with one in the same file';
  }
  const options = Node.isObjectLiteralExpression(literal) ? propertiesOf(literal) : new Map<string, Expression>();
  const given = Node.isObjectLiteralExpression(literal) ? options?.get('throttlers') : literal;
  const list = given && resolved(given);
  const throttlers = Node.isArrayLiteralExpression(list) ? throttlersIn(list) : undefined;
  if (options === undefined || throttlers === undefined) {
    return 'the throttlers are not a list of literals with literal names';
  }
  options.delete('throttlers');
  return { call, isAsync, literal, factory, options, throttlers };
}

/** The method of a class that makes options. */
export const CREATE = 'createThrottlerOptions';

/** The class of the application that `useClass` or `useExisting` names. */
function factoryClass(argument: Expression | undefined): ClassDeclaration | undefined {
  if (!Node.isObjectLiteralExpression(argument)) return undefined;
  for (const name of ['useClass', 'useExisting']) {
    const property = argument.getProperty(name);
    const value = Node.isPropertyAssignment(property) ? property.getInitializer() : undefined;
    if (!Node.isIdentifier(value)) continue;
    const symbol = value.getSymbol();
    const declarations = (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations() ?? [];
    return declarations.find(Node.isClassDeclaration);
  }
  return undefined;
}

/** What `useFactory` or the class returns, when it returns one expression. */
function returned(argument: Expression | undefined, made: ClassDeclaration | undefined): Expression | undefined {
  if (!Node.isObjectLiteralExpression(argument)) return undefined;
  const property = argument.getProperty('useFactory');
  const given = Node.isPropertyAssignment(property) ? property.getInitializer() : property;
  const factory = made?.getInstanceMethod(CREATE) ?? given;
  if (!Node.isArrowFunction(factory) && !Node.isFunctionExpression(factory) && !Node.isMethodDeclaration(factory)) {
    return undefined;
  }
  const body = factory.getBody();
  if (!Node.isBlock(body)) return body === undefined ? undefined : resolved(body as Expression);
  const returns = body
    .getDescendantsOfKind(SyntaxKind.ReturnStatement)
    .filter((one) => one.getFirstAncestor(isFunctionLike) === factory);
  const expression = returns.length === 1 ? returns[0]!.getExpression() : undefined;
  return expression && resolved(expression);
}

function isFunctionLike(node: Node): boolean {
  return Node.isFunctionLikeDeclaration(node) || Node.isFunctionExpression(node);
}
