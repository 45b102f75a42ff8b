import { type Expression, Node, type ObjectLiteralExpression, type ParameterDeclaration, SyntaxKind } from 'ts-morph';

/** Milliseconds of the duration helpers of @nestjs/throttler, and the unit in a text such as `'10s'`. */
const HELPERS: Readonly<Record<string, { readonly unit: string; readonly ms: number }>> = {
  seconds: { unit: 's', ms: 1000 },
  minutes: { unit: 'm', ms: 60_000 },
  hours: { unit: 'h', ms: 3_600_000 },
  days: { unit: 'd', ms: 86_400_000 },
  weeks: { unit: 'w', ms: 604_800_000 },
};

export const isHelper = (name: string | undefined): boolean => name !== undefined && name in HELPERS;

/** The initializers of an object literal by name; undefined when a part of it cannot be read. */
export function propertiesOf(object: ObjectLiteralExpression): Map<string, Expression> | undefined {
  const found = new Map<string, Expression>();
  for (const property of object.getProperties()) {
    if (Node.isPropertyAssignment(property)) {
      const name = property.getNameNode();
      if (Node.isComputedPropertyName(name)) return undefined;
      found.set(
        Node.isStringLiteral(name) ? name.getLiteralValue() : name.getText(),
        unwrapped(property.getInitializerOrThrow()),
      );
    } else if (Node.isShorthandPropertyAssignment(property)) {
      found.set(property.getName(), property.getNameNode());
    } else return undefined;
  }
  return found;
}

/** An expression without parentheses and assertions of types. */
export function unwrapped(expression: Expression): Expression {
  if (
    Node.isParenthesizedExpression(expression) ||
    Node.isAsExpression(expression) ||
    Node.isSatisfiesExpression(expression)
  ) {
    return unwrapped(expression.getExpression());
  }
  return expression;
}

/** The expression, or what a `const` of the same file stands for. */
export function resolved(expression: Expression): Expression {
  const bare = unwrapped(expression);
  if (!Node.isIdentifier(bare)) return bare;
  const declaration = bare.getSourceFile().getVariableDeclaration(bare.getText());
  const initializer = declaration?.getInitializer();
  return initializer === undefined ? bare : unwrapped(initializer);
}

/** Whether a value is a function of the request and not a number. */
export function isFunction(expression: Expression): boolean {
  return isInlineFunction(expression) || expression.getType().getCallSignatures().length > 0;
}

export function isInlineFunction(expression: Expression): boolean {
  return Node.isArrowFunction(expression) || Node.isFunctionExpression(expression);
}

/** A call of the function that an expression stands for, with as many of the arguments as it takes. */
export function called(expression: Expression, args: readonly string[]): string {
  const text = isInlineFunction(expression) ? `(${expression.getText()})` : expression.getText();
  return `${text}(${argumentsOf(expression, args).join(', ')})`;
}

/** The first of the arguments: as many as the function takes that an expression stands for. */
export function argumentsOf(expression: Expression, args: readonly string[]): readonly string[] {
  const parameters =
    Node.isArrowFunction(expression) || Node.isFunctionExpression(expression)
      ? expression.getParameters().length
      : (expression.getType().getCallSignatures()[0]?.getParameters().length ?? args.length);
  return args.slice(0, parameters);
}

/**
 * The parameters of a function of the request and its context that uses these arguments.
 *
 * @param at the file: in TypeScript the request is of any kind, as it is for @nestjs/throttler
 */
export function parametersFor(args: readonly string[], at: Node): string {
  const context = args.includes('context') ? ', context' : '';
  const usesRequest = args.some((arg) => /\brequest\b/.test(arg));
  if (!usesRequest) return context === '' ? '()' : `(${unusedName(at)}${context})`;
  return `(request${isTypeScript(at) ? `: ${ANY_REQUEST}` : ''}${context})`;
}

/** A function of the request and its context, as a function of both. */
export function asRequestFunction(expression: Expression): string {
  const parameter = firstParameter(expression);
  if (parameter !== undefined) {
    const isBare = parameter.getTypeNode() === undefined && !parameter.hasInitializer();
    return isBare && isTypeScript(expression)
      ? withParameter(expression, parameter, `${parameter.getText()}: ${ANY_REQUEST}`)
      : expression.getText();
  }
  if (isInlineFunction(expression) || Node.isIdentifier(expression)) return expression.getText();
  const args = argumentsOf(expression, ['request', 'context']);
  return `${parametersFor(args, expression)} => ${called(expression, args)}`;
}

/** A function of the context, as a function of the request and its context. */
export function behindRequest(expression: Expression): string {
  const parameter = firstParameter(expression);
  if (parameter !== undefined)
    return withParameter(expression, parameter, `${unusedName(expression)}, ${parameter.getText()}`);
  const args = argumentsOf(expression, ['context']);
  if (isInlineFunction(expression) || args.length === 0) return expression.getText();
  return `${parametersFor(args, expression)} => ${called(expression, args)}`;
}

/** A name for a parameter that nothing uses. `_` may be lodash, or a parameter of the function. */
function unusedName(at: Node): string {
  const uses = (name: string): boolean =>
    at
      .getText()
      .split(/[^\w$]+/)
      .includes(name);
  let name = '_';
  while (uses(name)) name = name === '_' ? '_request' : `_${name}`;
  return name;
}

/** What @nestjs/throttler calls a request. */
const ANY_REQUEST = 'Record<string, any>';

function isTypeScript(node: Node): boolean {
  return /\.[cm]?ts$/.test(node.getSourceFile().getFilePath());
}

function firstParameter(expression: Expression): ParameterDeclaration | undefined {
  return Node.isArrowFunction(expression) || Node.isFunctionExpression(expression)
    ? expression.getParameters()[0]
    : undefined;
}

/** The text of a function with other text for its first parameter. An arrow function may have it without parentheses. */
function withParameter(expression: Expression, parameter: ParameterDeclaration, replacement: string): string {
  const text = expression.getText();
  const before = text.slice(0, parameter.getStart() - expression.getStart());
  const behind = text.slice(parameter.getEnd() - expression.getStart());
  return before.includes('(') ? `${before}${replacement}${behind}` : `${before}(${replacement})${behind}`;
}

/** A `ttl` as the `window` of a policy. */
export function windowText(ttl: Expression, exportedName: (local: string) => string | undefined): string {
  const literal = Node.isStringLiteral(ttl) ? Number(ttl.getLiteralValue()) : numberOf(ttl);
  if (literal !== undefined && !Number.isNaN(literal)) {
    if (literal < 1000) return `'${literal}ms'`;
    return Node.isStringLiteral(ttl) ? String(literal) : ttl.getText();
  }
  if (!Node.isCallExpression(ttl)) return ttl.getText();
  const helper = HELPERS[exportedName(ttl.getExpression().getText()) ?? ''];
  const [count] = ttl.getArguments();
  if (helper === undefined || count === undefined) return ttl.getText();
  const given = numberOf(count);
  return given !== undefined && Number.isInteger(given)
    ? `'${given}${helper.unit}'`
    : `(${count.getText()}) * ${helper.ms.toLocaleString('en-US').replaceAll(',', '_')}`;
}

/** The milliseconds of a `ttl`; undefined when only the running application knows them. */
export function millisecondsOf(
  ttl: Expression,
  exportedName: (local: string) => string | undefined,
): number | undefined {
  const found = resolved(ttl);
  if (!Node.isCallExpression(found)) return numberOf(found);
  const helper = HELPERS[exportedName(found.getExpression().getText()) ?? ''];
  const [count] = found.getArguments();
  const given = count && numberOf(count);
  return helper === undefined || given === undefined ? undefined : given * helper.ms;
}

function numberOf(node: Node): number | undefined {
  return Node.isNumericLiteral(node) ? node.getLiteralValue() : undefined;
}

/** Whether an expression means the same in another file: it names nothing but what it declares itself and globals. */
export function isSelfContained(expression: Expression): boolean {
  const names = [expression, ...expression.getDescendants()].filter((node) => node.isKind(SyntaxKind.Identifier));
  return names.every((identifier) => {
    const parent = identifier.getParent();
    if (Node.isPropertyAccessExpression(parent) && parent.getNameNode() === identifier) return true;
    if (Node.isPropertyAssignment(parent) && parent.getNameNode() === identifier) return true;
    const definitions = identifier.getSymbol()?.getDeclarations() ?? [];
    const file = expression.getSourceFile();
    return definitions.every(
      (one) =>
        one.getSourceFile() !== file || (expression.getPos() <= one.getPos() && one.getEnd() <= expression.getEnd()),
    );
  });
}
