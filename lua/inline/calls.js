// Puts functions in the place of their calls.
import { NIL, bool, childrenOf, copy, isLiteral, isNode, isPure, rewrite, usesOf, within } from './tree.js';

/** Functions of Lua that return one value. */
const RETURN_ONE = new Set(['floor', 'ceil', 'max', 'min', 'format']);
const isOneValue = ({ type, base, isFirst }) =>
  isFirst || (type === 'CallExpression' ? RETURN_ONE.has(base.name) : !/Call|Vararg/.test(type));

/** Whether each parameter gets one argument or nil, and no other argument has an effect. */
function fits({ parameters }, args) {
  if (args.slice(parameters.length).some((arg) => !isPure(arg))) return false;
  return args.length === 0 || args.length >= parameters.length || isOneValue(args.at(-1));
}

/** The functions that can be put in the place of their calls, by their locals. */
function inlinableIn(root) {
  const uses = usesOf(root);
  const functions = new Map();
  for (const node of within(root)) {
    if (node.type !== 'FunctionDeclaration' || !node.isLocal) continue;
    const { local } = node.identifier;
    if (uses(local).writes > 0 || node.parameters.some(({ type }) => type !== 'Identifier')) continue;
    if ([...within({ ...node, identifier: null })].some((one) => one.local === local)) continue; // calls itself
    if (!returnsInLoop(node.body, false)) functions.set(local, node);
  }
  return functions;
}

/** The parameters of a function that functions within it use, which may outlive the call: a variable in their place may change. */
function keptBy({ body }) {
  const inner = [...within({ type: 'Chunk', body })].filter(({ type }) => type === 'FunctionDeclaration');
  return new Set(inner.flatMap((node) => [...within(node)].map(({ local }) => local)));
}

const LOOPS = new Set(['WhileStatement', 'RepeatStatement', 'ForNumericStatement', 'ForGenericStatement']);

function returnsInLoop(nodes, inLoop) {
  return nodes.some((node) => {
    if (node.type === 'ReturnStatement') return inLoop;
    if (node.type === 'FunctionDeclaration') return false;
    return returnsInLoop([...childrenOf(node)], inLoop || LOOPS.has(node.type));
  });
}

/** Whether some `return` of a body is not its last statement. */
function returnsEarly(body) {
  const returns = (node) => {
    if (node.type === 'FunctionDeclaration') return false;
    return node.type === 'ReturnStatement' || [...childrenOf(node)].some(returns);
  };
  return body.some((node, i) => returns(node) && !(node.type === 'ReturnStatement' && i === body.length - 1));
}

/** Whether a body cannot end without a `return`. */
function alwaysReturns(body) {
  const last = body.at(-1);
  if (last?.type === 'DoStatement') return alwaysReturns(last.body);
  if (last?.type === 'IfStatement') {
    return last.clauses.at(-1).type === 'ElseClause' && last.clauses.every((clause) => alwaysReturns(clause.body));
  }
  return last?.type === 'ReturnStatement';
}

/** Puts functions in the place of their calls. */
export function inlineCalls(chunk) {
  const functions = inlinableIn(chunk);
  const uses = usesOf(chunk);
  const calleeOf = (node) => {
    const callee = node?.type === 'CallExpression' ? functions.get(node.base.local) : undefined;
    return callee && fits(callee, node.arguments) ? callee : undefined;
  };
  /** The function whose values a statement assigns: of some calls it is the first value alone. */
  const assignedCallee = ({ init, variables }) =>
    init.length === 1 && !(init[0].isFirst && variables.length > 1) ? calleeOf(init[0]) : undefined;

  const inExpressions = (node) =>
    rewrite(node, (one) => {
      const callee = calleeOf(one);
      if (callee?.body.length !== 1 || callee.body[0].type !== 'ReturnStatement') return one;
      const [value, ...more] = callee.body[0].arguments;
      if (value === undefined || more.length > 0 || !isOneValue(value)) return one;
      const kept = keptBy(callee);
      if (one.arguments.some((arg, i) => isWritten(arg) && kept.has(callee.parameters[i]?.local))) return one;
      const simple = callee.parameters.every((_, i) => isSimple(one.arguments[i]));
      if (!simple || one.arguments.length > callee.parameters.length) return one;
      return copy(value, new Map(callee.parameters.map(({ local }, i) => [local, one.arguments[i] ?? NIL])));
    });
  const isSimple = (node) =>
    node === undefined || isLiteral(node) || (node.type === 'Identifier' && node.local && !uses(node.local).escapes);

  const isWritten = ({ local }) => local !== undefined && uses(local).writes > 0;

  /** The body of a function with arguments in the place of its parameters, which assigns to `targets` what it returns. */
  const bodyOf = (callee, args, targets) => {
    const replaced = new Map();
    const own = usesOf({ type: 'Chunk', body: callee.body });
    const kept = keptBy(callee);
    const given = callee.parameters.flatMap(({ local, name }, i) => {
      const arg = args[i] ?? NIL;
      if (
        isSimple(arg) &&
        !(kept.has(local) && isWritten(arg)) &&
        own(local).writes === 0 &&
        !(arg.local && own(arg.local).writes > 0) &&
        !indexes(callee, local, arg)
      ) {
        replaced.set(local, arg);
        return [];
      }
      const mine = { type: 'Identifier', name, local: { name } };
      replaced.set(local, mine);
      return [{ type: 'LocalStatement', variables: [mine], init: [arg] }];
    });
    const early = returnsEarly(callee.body);
    const assigned = (node) => {
      if (node.type === 'FunctionDeclaration') return node;
      if (node.type !== 'ReturnStatement') {
        for (const [name, value] of Object.entries(node)) {
          if (name !== 'local' && Array.isArray(value)) {
            node[name] = value.flatMap((one) => (isNode(one) ? assigned(one) : one));
          }
        }
        return node;
      }
      const values = node.arguments.length > 0 ? node.arguments : targets.length > 0 ? [NIL] : [];
      const stop = early ? [{ type: 'BreakStatement' }] : [];
      if (targets.length === 0) return stop;
      return [{ type: 'AssignmentStatement', variables: targets.map((one) => ({ ...one })), init: values }, ...stop];
    };
    const body = copy(
      callee.body.length > 0 ? { type: 'DoStatement', body: callee.body } : { type: 'DoStatement', body: [] },
      replaced,
    );
    const { body: statements } = assigned(body);
    if (early && statements.at(-1)?.type === 'BreakStatement') statements.pop();
    const whole = early
      ? { type: 'RepeatStatement', body: statements, condition: bool(true) }
      : { type: 'DoStatement', body: statements };
    return given.length > 0 ? { type: 'DoStatement', body: [...given, whole] } : whole;
  };

  const statement = (node) => {
    if (node.type === 'LocalStatement') {
      const callee = assignedCallee(node);
      if (callee) return [{ ...node, init: [] }, bodyOf(callee, node.init[0].arguments, node.variables)];
    }
    if (node.type === 'AssignmentStatement') {
      const callee = assignedCallee(node);
      const plain = node.variables.every(({ type, local }) => type === 'Identifier' && local);
      if (callee && plain && alwaysReturns(callee.body)) return bodyOf(callee, node.init[0].arguments, node.variables);
    }
    if (node.type === 'CallStatement') {
      const callee = calleeOf(node.expression);
      if (callee) return bodyOf(callee, node.expression.arguments, []);
    }
    return node;
  };
  inExpressions(chunk);
  rewrite(chunk, statement);
}

/** Whether an argument cannot stand in the place of a parameter: a literal has no fields. */
function indexes(callee, local, arg) {
  if (!isLiteral(arg)) return false;
  return [...within({ type: 'Chunk', body: callee.body })].some(
    ({ type, base }) => /^(?:Index|Member)/.test(type) && base.local === local,
  );
}
