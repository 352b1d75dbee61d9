import { type ESTree, parseSync } from 'vite'
import { lineAt, type SourceFile } from '../../test/architecture/rule.ts'
import { flat, type MutantPlace, roomOf } from './mutant.ts'
import { mutationsOf } from './mutations.ts'

type Node = ESTree.Node

/** All mutants of a file. */
export function placesIn({ path, text }: SourceFile): readonly MutantPlace[] {
  const { program, errors } = parseSync(path, text, { lang: 'ts' })
  const [error] = errors
  if (error !== undefined) throw new Error(`${path}: ${error.message}`)
  const room = roomOf(path)
  const lines = text.split('\n')
  const places: MutantPlace[] = []

  // `statement` is the expression of the statement that begins around the node.
  const visit = (
    node: Node,
    parent: Node,
    key: string,
    isTopLevel: boolean,
    statement?: Node,
  ): void => {
    if (isSkipped(node, parent)) return
    for (const { kind, node: target, replacement } of mutationsOf(node, { text, parent, key })) {
      const { start, end } = target
      if (target === node && isInsideChain(node, parent, key)) continue
      const whole = node.type === 'ExpressionStatement' ? node.expression : statement
      const isStatement = whole !== undefined && start === whole.start
      // A line that begins with a parenthesis would belong to the line before.
      if (isStatement && end !== whole.end) continue
      const line = lineAt(text, start)
      const original = text.slice(start, end)
      if (replacement === original) continue
      const lineText = flat(lines[line - 1] ?? '')
      const place = { file: path, room, kind, line, lineText, start, end, original, replacement }
      places.push({ ...place, isStatement, isTopLevel: isTopLevel && !isFunction(node) })
    }
    const next = node.type === 'ExpressionStatement' ? node.expression : statement
    const isOutside = isTopLevel && !isFunction(node)
    for (const [name, child] of childrenOf(node)) visit(child, node, name, isOutside, next)
  }
  visit(program, program, '', true)
  return places
}

function isFunction({ type }: Node): boolean {
  return /^(?:ArrowFunction|Function|PropertyDefinition)/.test(type)
}

const TYPES = new Set(['typeAnnotation', 'returnType', 'typeParameters', 'typeArguments'])
const TYPED_EXPRESSIONS = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSInstantiationExpression',
])
/** Properties that are text for people. */
const TEXTS = /^(?:message|hint|help|summary|description)$/

/** Types are erased, and the exact words of messages are no behavior. */
function isSkipped(node: Node, parent: Node): boolean {
  if (node.type.startsWith('TS')) return !TYPED_EXPRESSIONS.has(node.type)
  if (node.type === 'ThrowStatement' || node.type === 'ImportDeclaration') return true
  if (parent.type === 'Property' && parent.key.type === 'Identifier' && node === parent.value) {
    return TEXTS.test(parent.key.name)
  }
  return (
    node.type === 'NewExpression' &&
    node.callee.type === 'Identifier' &&
    node.callee.name.endsWith('Error')
  )
}

/** In `a?.b.c()`, parentheses around `a?.b` would change what `?.` skips. */
function isInsideChain(node: Node, parent: Node, key: string): boolean {
  if (key !== 'object' && key !== 'callee') return false
  if (parent.type !== 'MemberExpression' && parent.type !== 'CallExpression') return false
  return parent.optional || hasOptional(node)
}

function hasOptional(node: Node): boolean {
  if (node.type === 'CallExpression') return node.optional || hasOptional(node.callee)
  if (node.type === 'MemberExpression') return node.optional || hasOptional(node.object)
  return node.type === 'TSNonNullExpression' && hasOptional(node.expression)
}

function childrenOf(node: Node): readonly (readonly [string, Node])[] {
  return Object.entries(node).flatMap(([key, value]) => {
    if (TYPES.has(key)) return []
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    return values.filter(isNode).map((child) => [key, child] as const)
  })
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, 'type') === 'string'
  )
}
