import type { ESTree } from 'vite'
import { DROPPED } from './mutant.ts'

type Node = ESTree.Node

export interface Mutation {
  readonly kind: string
  readonly node: Node
  readonly replacement: string
}

interface Context {
  readonly text: string
  readonly parent: Node
  readonly key: string
}

const OPPOSITES: ReadonlyMap<string, string> = new Map([
  ['<', '<='],
  ['<=', '<'],
  ['>', '>='],
  ['>=', '>'],
  ['===', '!=='],
  ['!==', '==='],
  ['&&', '||'],
  ['||', '&&'],
  ['+', '-'],
  ['-', '+'],
  ['*', '/'],
  ['/', '*'],
  ['%', '*'],
  ['&', '|'],
  ['|', '&'],
  ['<<', '>>'],
  ['>>', '<<'],
  ['>>>', '<<'],
])

const OTHER_METHODS: ReadonlyMap<string, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
  ['min', 'max'],
  ['max', 'min'],
])

/** Methods without which the receiver has the same type. */
const OPTIONAL_METHODS = new Set(['filter', 'toLowerCase', 'toReversed', 'toSorted', 'trim'])

/** Everything that can be changed about a node itself, but not about the nodes inside it. */
export function mutationsOf(node: Node, context: Context): readonly Mutation[] {
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
      return operator(node, context)
    case 'IfStatement':
    case 'ConditionalExpression':
      return [condition(node.test, 'true'), condition(node.test, 'false')]
    case 'WhileStatement':
    case 'DoWhileStatement':
      return isTrue(node.test) ? [] : [condition(node.test, 'false')]
    case 'ForStatement':
      return node.test === null ? [] : [condition(node.test, 'false')]
    case 'UnaryExpression':
      return unary(node, context)
    case 'ReturnStatement':
      return node.argument === null ? [] : result(node.argument)
    case 'ArrowFunctionExpression':
      return node.body.type === 'BlockStatement' ? [] : result(node.body)
    case 'ExpressionStatement':
      return isEffect(node.expression)
        ? [{ kind: 'statement', node: node.expression, replacement: DROPPED }]
        : []
    case 'Literal':
      return literal(node, context)
    case 'SpreadElement': {
      const replacement = context.parent.type === 'ObjectExpression' ? '{}' : '[]'
      return [{ kind: 'spread', node: node.argument, replacement }]
    }
    case 'ArrayExpression':
      return node.elements.length === 0 || context.parent.type === 'SpreadElement'
        ? []
        : [{ kind: 'list', node, replacement: '[]' }]
    case 'CallExpression':
      return call(node, context)
    default:
      return []
  }
}

function operator(
  node: Extract<Node, { type: 'BinaryExpression' | 'LogicalExpression' }>,
  { text }: Context,
): readonly Mutation[] {
  if (node.operator === '??') {
    return [{ kind: 'operator', node, replacement: textOf(node.left, text) }]
  }
  const opposite = OPPOSITES.get(node.operator)
  if (opposite === undefined || (node.operator === '+' && isText(node))) return []
  const gap = text.slice(node.left.end, node.right.start).replace(node.operator, opposite)
  const replacement = textOf(node.left, text) + gap + textOf(node.right, text)
  return [{ kind: 'operator', node, replacement }]
}

function condition(node: Node, replacement: string): Mutation {
  return { kind: 'condition', node, replacement }
}

function isTrue(node: Node): boolean {
  return node.type === 'Literal' && node.value === true
}

function unary(node: ESTree.UnaryExpression, { text }: Context): readonly Mutation[] {
  if (node.operator !== '!' && node.operator !== '-') return []
  return [{ kind: 'negation', node, replacement: textOf(node.argument, text) }]
}

const RESULTS: ReadonlySet<string> = new Set([
  'ArrayExpression',
  'ArrowFunctionExpression',
  'AwaitExpression',
  'CallExpression',
  'ChainExpression',
  'Identifier',
  'MemberExpression',
  'NewExpression',
  'ObjectExpression',
  'TemplateLiteral',
])

function result(argument: Node): readonly Mutation[] {
  const node = withoutWrapping(argument)
  const isUndefined = node.type === 'Identifier' && node.name === 'undefined'
  if (isUndefined || !RESULTS.has(node.type)) return []
  return [{ kind: 'return', node, replacement: 'undefined' }]
}

/** Without parentheses and types. */
function withoutWrapping(node: Node): Node {
  switch (node.type) {
    case 'ParenthesizedExpression':
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
    case 'TSNonNullExpression':
      return withoutWrapping(node.expression)
    default:
      return node
  }
}

/** Not a directive, and not a call of the constructor above, without which nothing works. */
function isEffect(node: Node): boolean {
  if (node.type === 'CallExpression') return node.callee.type !== 'Super'
  if (node.type === 'AwaitExpression' || node.type === 'ChainExpression') return true
  if (node.type === 'UnaryExpression') return node.operator === 'delete'
  return node.type === 'AssignmentExpression' || node.type === 'UpdateExpression'
}

const ROUND = 1000

function literal(
  node: Extract<Node, { type: 'Literal' }>,
  { parent, key }: Context,
): readonly Mutation[] {
  const { value } = node
  if (key === 'key') return []
  if (typeof value === 'boolean') {
    const isEndless = key === 'test' || parent.type === 'BinaryExpression'
    return isEndless ? [] : [{ kind: 'literal', node, replacement: String(!value) }]
  }
  // No test can tell 30,000 ms from 30,001.
  if (typeof value === 'number' && (value === 0 || value % ROUND !== 0)) {
    return [{ kind: 'number', node, replacement: String(value + 1) }]
  }
  if (typeof value === 'bigint') {
    return [{ kind: 'number', node, replacement: `${value + 1n}n` }]
  }
  return []
}

function call(node: ESTree.CallExpression, { text }: Context): readonly Mutation[] {
  const { callee } = node
  if (callee.type !== 'MemberExpression' || callee.computed) return []
  const { name } = callee.property
  const other = OTHER_METHODS.get(name)
  if (other !== undefined) {
    const before = text.slice(node.start, callee.property.start)
    const after = text.slice(callee.property.end, node.end)
    return [{ kind: 'method', node, replacement: before + other + after }]
  }
  if (!OPTIONAL_METHODS.has(name)) return []
  return [{ kind: 'method', node, replacement: textOf(callee.object, text) }]
}

/** A sum with a string in it. */
function isText(node: Node): boolean {
  if (node.type === 'TemplateLiteral') return true
  if (node.type === 'Literal') return typeof node.value === 'string'
  return node.type === 'BinaryExpression' && (isText(node.left) || isText(node.right))
}

function textOf({ start, end }: Node, text: string): string {
  return text.slice(start, end)
}
