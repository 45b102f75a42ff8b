// Puts cheaper expressions in the place of tables and of calls of the standard library.
import { childrenOf, copy, declaredBy, isPure, rewrite, usesOf, within } from './tree.js';

/**
 * Tables of positional items that are only read at constant places become locals. What is written to other places of them is
 * dropped, as nobody reads it.
 */
export function scalars(chunk) {
  const tables = new Map();
  for (const node of within(chunk)) {
    if (node.type !== 'LocalStatement' || node.variables.length !== 1) continue;
    const [init] = node.init;
    if (init?.type !== 'TableConstructorExpression' || init.fields.length < 3) continue;
    if (init.fields.every(({ type }) => type === 'TableValue')) tables.set(node.variables[0].local, node);
  }
  const isRead = ({ type, base, index }) =>
    type === 'IndexExpression' &&
    tables.has(base.local) &&
    index.type === 'NumericLiteral' &&
    index.value <= tables.get(base.local).init[0].fields.length;
  const isWrite = ({ type, variables, init }) =>
    type === 'AssignmentStatement' &&
    variables.length === 1 &&
    variables[0].type === 'IndexExpression' &&
    tables.has(variables[0].base.local) &&
    variables[0].index.type !== 'NumericLiteral' &&
    init.every(isPure);
  const visit = (node) => {
    if (node.type === 'Identifier') tables.delete(node.local); // used as a whole
    for (const child of childrenOf(node)) {
      if (declaredBy(node).includes(child)) continue;
      if (isRead(child) && !(node.type === 'AssignmentStatement' && node.variables.includes(child))) continue;
      if (!isWrite(child)) visit(child);
    }
  };
  visit(chunk);
  const items = new Map();
  for (const [local, node] of tables) {
    const { fields } = node.init[0];
    node.variables = fields.map((_, i) => {
      const name = `${local.name}${i + 1}`;
      return { type: 'Identifier', name, local: { name } };
    });
    node.init = fields.map(({ value }) => value);
    items.set(local, node.variables);
  }
  rewrite(chunk, (one) => {
    if (one.type === 'IndexExpression' && items.has(one.base.local) && one.index.type === 'NumericLiteral') {
      return { ...items.get(one.base.local)[one.index.value - 1] };
    }
    return one.type === 'AssignmentStatement' && items.has(one.variables[0].base?.local) ? [] : one;
  });
}

/**
 * Without the calls of math.floor and math.ceil, which take Redis three times as long as the arithmetic; and names such as
 * string.find where they are used, as not each run uses them all. Both are the same for every finite number below 2^53: the part
 * behind the point is exact, and below 1 the sum is rounded to 1.
 */
export function withoutCalls(chunk) {
  const uses = usesOf(chunk);
  const globals = new Map();
  for (const node of within(chunk)) {
    if (node.type !== 'LocalStatement' || node.init.length !== node.variables.length) continue;
    node.variables.forEach(({ local }, i) => {
      const { type, base } = node.init[i];
      if (type === 'MemberExpression' && base.type === 'Identifier' && !base.local && uses(local).writes === 0) {
        globals.set(local, node.init[i]);
      }
    });
  }
  const one = { type: 'NumericLiteral', value: 1, raw: '1' };
  const binary = (operator, left, right) => ({ type: 'BinaryExpression', operator, left, right });
  rewrite(chunk, (node) => {
    if (node.type !== 'CallExpression' || node.arguments.length !== 1) return node;
    const { base, identifier } = globals.get(node.base.local) ?? {};
    const [x] = node.arguments;
    if (base?.name !== 'math' || !isCheap(x)) return node;
    if (identifier.name === 'floor') return binary('-', x, binary('%', another(x), one));
    if (identifier.name !== 'ceil') return node;
    return binary('+', x, binary('%', { type: 'UnaryExpression', operator: '-', argument: another(x) }, one));
  });
  rewrite(chunk, (node) => {
    if (node.type === 'LocalStatement' || node.type !== 'CallExpression') return node;
    return { ...node, base: globals.get(node.base.local) ?? node.base };
  });
}

const another = (node) => copy(node, new Map());

/** Whether an expression takes less time than a call. */
function isCheap(node) {
  const operators = new Set(['+', '-', '*', '/']);
  const all = [...within(node)];
  return (
    all.length <= 7 &&
    all.every(({ type, operator, local }) => {
      return (
        type === 'NumericLiteral' ||
        (type === 'Identifier' && local) ||
        (type === 'BinaryExpression' && operators.has(operator))
      );
    })
  );
}
