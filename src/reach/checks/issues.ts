import type * as z from 'zod'
import { nearestName } from '../../diagnostics/nearest.ts'
import { formOf, type IssueParams, POLICY_SCHEMAS } from '../../policies/schema.ts'
import type { Field, Message } from './place.ts'

type Issue = z.core.$ZodIssue

/** A value that was checked, with its contents: of a file, a row or an object of a cluster. */
export interface IssueNode {
  /** Undefined if there is none. */
  readonly value: unknown
  readonly isThere: boolean
  /** Its key or index in the enclosing value. */
  readonly step: PropertyKey
  readonly outer: IssueNode
  /** Whether showing the value would reveal a secret. */
  readonly isExpanded: boolean
  inner(...steps: Field): IssueNode
}

export interface IssueContext<N extends IssueNode> {
  readonly node: N
  readonly schema: z.core.$ZodType
  /** Keys that were removed before the check, and so are not mistakes. */
  readonly furtherKeys?: readonly string[]
  /** The message for a key of another product; `known` are the keys that are known there. */
  readonly foreignKey?: (key: string, known: readonly string[]) => Message | undefined
  /** Not all keys of the schema are allowed here, so none are listed. */
  readonly hasOtherKeys?: boolean
}

/** What is wrong, and which key or value is affected. */
export interface Found<N extends IssueNode> {
  readonly node: N
  readonly part: 'key' | 'value'
  readonly message: Message
}

/** The issues that zod found, with a place, in our words and with a hint. */
export function wordIssues<N extends IssueNode>(
  issues: readonly Issue[],
  context: IssueContext<N>,
): readonly Found<N>[] {
  // Nodes around a node, or inside it, are of its type.
  return findIn(issues, context) as readonly Found<N>[]
}

type Context = IssueContext<IssueNode>
type Finding = Found<IssueNode>

function findIn(issues: readonly Issue[], context: Context): readonly Finding[] {
  return issues.flatMap((issue) => {
    const node = context.node.inner(...issue.path)
    // A missing key is probably present under an unknown name.
    if (isMissing(issue) && issues.some((other) => isUnknownKey(other, issue.path))) return []
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map((key) => unknownKey(key, issue.path, context))
      case 'invalid_union':
        return diagnoseUnion(issue, context)
      case 'invalid_key':
        return issue.issues.slice(0, 1).map((inner) => say(node, 'key', wordsFor(inner, node)))
      default:
        return [diagnoseOne(issue, node, context)]
    }
  })
}

function isMissing(issue: Issue): boolean {
  return issue.code === 'custom' && (issue.params as Partial<IssueParams>)?.rule === 'missing'
}

function isUnknownKey({ code, path }: Issue, at: Issue['path']): boolean {
  return code === 'unrecognized_keys' && path.join() === at.join()
}

function diagnoseOne(issue: Issue, node: IssueNode, context: Context): Finding {
  if (issue.code === 'custom') {
    const { rule } = (issue.params ?? {}) as Partial<IssueParams>
    return say(node, rule === 'excludes' ? 'key' : 'value', wordsFor(issue, node))
  }
  const form = schemasAt(context.schema, issue.path)
    .map(formOf)
    .find((one) => one !== undefined)
  if (!node.isThere) {
    const key = String(node.step)
    const hint = form === undefined ? expectation(issue) : `expected ${form.what}`
    const message = { code: 'PC0211', message: `\`${key}\` is missing`, hint }
    return say(node.outer, 'value', message)
  }
  const { value } = node
  switch (issue.code) {
    case 'invalid_type':
      return say(node, 'value', wrongType([issue.expected], value, form, node.step))
    case 'invalid_value':
      return say(node, 'value', notOneOf(issue.values, value, node.isExpanded))
    default:
      return say(node, 'value', wordsFor(issue, node))
  }
}

function say(node: IssueNode, part: 'key' | 'value', message: Message): Finding {
  return { node, part, message }
}

function unknownKey(key: string, at: Field, context: Context): Finding {
  const known = [
    ...keysOf(context.schema, at),
    ...(at.length === 0 ? (context.furtherKeys ?? []) : []),
  ]
  const foreign = context.foreignKey?.(key, known)
  const node = context.node.inner(...at, key)
  if (foreign !== undefined) return say(node, 'key', foreign)
  const meant = nearestName(key, known)
  const isMisplaced = known.includes('policies') && POLICY_SCHEMAS.some(({ kind }) => kind === key)
  const isListed = known.length <= 16 && context.hasOtherKeys !== true
  const listed = isListed ? `available: ${known.join(', ')}` : undefined
  return say(node, 'key', {
    code: 'PC0210',
    message: `unknown field \`${key}\``,
    hint: isMisplaced
      ? 'set policies under `policies`'
      : meant === undefined
        ? listed
        : `did you mean \`${meant}\`?`,
  })
}

/** The issues of the option that was probably meant; if there is none, the types of all options. */
function diagnoseUnion(issue: z.core.$ZodIssueInvalidUnion, context: Context): readonly Finding[] {
  const node = context.node.inner(...issue.path)
  const { value } = node
  const likely = issue.errors
    .filter((option) => !option.some((one) => one.path.length === 0 && isOfOtherType(one, value)))
    .toSorted(
      (a, b) =>
        unknownKeysIn(a, isOwn) - unknownKeysIn(b, isOwn) ||
        unknownKeysIn(a) - unknownKeysIn(b) ||
        a.length - b.length,
    )
  const [best] = likely
  if (best !== undefined) {
    const inner = best.map((one) => ({ ...one, path: [...issue.path, ...one.path] }) as Issue)
    return findIn(inner, context)
  }
  if (!node.isThere) {
    const [first] = issue.errors.flat()
    if (first !== undefined) return [diagnoseOne(first as Issue, node, context)]
  }
  const expected = issue.errors.flat().flatMap((one) => {
    if (one.code === 'invalid_type') return [one.expected]
    return one.code === 'invalid_value' ? one.values.map((value) => typeof value) : []
  })
  return [say(node, 'value', wrongType([...new Set(expected)], value, undefined, node.step))]
}

/** A form that knows the keys of the value itself was meant, whatever is wrong deeper inside. */
const isOwn = ({ path }: Issue) => path.length === 0

/** The keys that a form does not know are more telling than those that it lacks. */
function unknownKeysIn(issues: readonly Issue[], counts = (_: Issue) => true): number {
  return issues.filter(counts).reduce((sum, one) => {
    if (one.code === 'unrecognized_keys') return sum + one.keys.length
    if (one.code !== 'invalid_union') return sum
    const isOther = (inner: Issue) => inner.code === 'invalid_type' && inner.path.length === 0
    const likely = (one.errors as Issue[][]).filter((inner) => !inner.some(isOther))
    return (
      sum +
      (likely.length === 0 ? 0 : Math.min(...likely.map((inner) => unknownKeysIn(inner, counts))))
    )
  }, 0)
}

function isOfOtherType(issue: Issue, value: unknown): boolean {
  if (issue.code === 'invalid_type') return issue.expected !== 'int' || typeof value !== 'number'
  return (
    issue.code === 'invalid_value' && !issue.values.some((other) => typeof other === typeof value)
  )
}

function wordsFor(issue: Issue, node: IssueNode): Message {
  const subject =
    typeof node.step === 'string' && node.step !== '' ? `\`${node.step}\`` : 'this value'
  switch (issue.code) {
    case 'custom': {
      const params = (issue.params ?? { rule: 'malformed' }) as IssueParams
      return { code: RULES[params.rule], message: issue.message, hint: params.hint }
    }
    case 'too_small':
    case 'too_big': {
      const isSmall = issue.code === 'too_small'
      const bound = Number(isSmall ? issue.minimum : issue.maximum)
      const limit = `${isSmall ? 'at least' : 'at most'} ${bound.toLocaleString('en')}`
      const unit = SIZED[issue.origin]
      if (unit === undefined) return { code: 'PC0214', message: `${subject} must be ${limit}` }
      if (isSmall && bound === 1) return { code: 'PC0214', message: `${subject} must not be empty` }
      const noun = bound === 1 ? unit : `${unit}s`
      return { code: 'PC0214', message: `${subject} must have ${limit} ${noun}` }
    }
    case 'invalid_format':
      return {
        code: 'PC0215',
        message: `${subject} has an invalid format`,
        hint:
          'pattern' in issue && issue.pattern ? `the value must match ${issue.pattern}` : undefined,
      }
    default:
      return { code: 'PC0215', message: `${subject} is not valid here` }
  }
}

const SIZED: Readonly<Record<string, string>> = {
  string: 'character',
  array: 'item',
  record: 'key',
  object: 'key',
}

const RULES: Readonly<Record<IssueParams['rule'], string>> = {
  missing: 'PC0211',
  range: 'PC0214',
  malformed: 'PC0215',
  excludes: 'PC0216',
  unsupported: 'PC0219',
}

function notOneOf(values: readonly unknown[], value: unknown, isSecret: boolean): Message {
  const names = values.map(String)
  const meant = typeof value === 'string' && !isSecret ? nearestName(value, names) : undefined
  return {
    code: 'PC0213',
    message: `expected ${oneOf(names.map((name) => `\`${name}\``))}`,
    hint: meant === undefined ? undefined : `did you mean \`${meant}\`?`,
  }
}

function wrongType(
  expected: readonly string[],
  value: unknown,
  form?: ReturnType<typeof formOf>,
  step?: PropertyKey,
): Message {
  const names = [...new Set(expected.map((type) => TYPES[type] ?? type))]
  const what = form?.what ?? oneOf(names)
  const isRight = typeof value === 'number' && form?.accepts(String(value))
  const found = expected.includes('int') ? 'a fractional number' : typeName(value)
  return {
    code: 'PC0212',
    message: `expected ${what}, found ${typeof value === 'number' ? found : typeName(value)}`,
    hint: isRight ? 'put it in quotes' : typeHint(expected, value, form, step),
  }
}

function typeHint(
  expected: readonly string[],
  value: unknown,
  form: ReturnType<typeof formOf>,
  step: PropertyKey | undefined,
): string | undefined {
  if (value === null) return 'set a value, or remove the key'
  if (form !== undefined) return form.hint
  if (typeof value === 'string') {
    const isNumber = /^-?[0-9]+(\.[0-9]+)?$/.test(value)
    if (isNumber && expected.some((type) => type === 'number' || type === 'int')) {
      return 'remove the quotes'
    }
    const [, port] = /^:([0-9]+)$/.exec(value) ?? []
    if (port !== undefined && expected.includes('number')) return `write ${port}`
    if (step === 'path' && expected.includes('object') && /^\/[\w/.-]*$/.test(value)) {
      return `write { pathPrefix: ${value} }, or { exact: ${value} }`
    }
    if (expected.includes('boolean') && /^(yes|no|on|off)$/i.test(value)) {
      return 'write true or false'
    }
  }
  if (expected.includes('string') && (typeof value === 'number' || typeof value === 'boolean')) {
    return 'put it in quotes'
  }
  if (expected.includes('array') && !Array.isArray(value)) return 'start each item with `- `'
  return undefined
}

/** What a missing key expects. */
function expectation(issue: Issue): string | undefined {
  if (issue.code === 'invalid_type') return `expected ${TYPES[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') return `expected ${oneOf(issue.values.map(String))}`
  return undefined
}

const TYPES: Readonly<Record<string, string>> = {
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  null: 'null',
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'no value'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (typeof value === 'boolean') return String(value)
  return typeof value === 'number' ? 'a number' : 'a string'
}

function oneOf(names: readonly string[]): string {
  if (names.length < 2) return names.join('')
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

/** The keys that the schema allows at the path. */
function keysOf(schema: z.core.$ZodType, path: Field): readonly string[] {
  const keys = schemasAt(schema, path).flatMap((at) => {
    const { def } = (at as z.core.$ZodTypes)._zod
    return def.type === 'object' ? Object.keys(def.shape) : []
  })
  return [...new Set(keys)]
}

/** The schemas of the value at the path: more than one if there are unions on the way. */
function schemasAt(schema: z.core.$ZodType, path: Field): readonly z.core.$ZodType[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  const [step, ...rest] = path
  switch (def.type) {
    case 'default':
    case 'optional':
    case 'prefault':
    case 'readonly':
      return schemasAt(def.innerType, path)
    case 'pipe':
      return schemasAt(def.in, path)
    case 'union':
      return def.options.flatMap((option) => schemasAt(option, path))
    case 'array':
      return step === undefined ? [schema] : schemasAt(def.element, rest)
    case 'record':
      return step === undefined ? [schema] : schemasAt(def.valueType, rest)
    case 'object': {
      if (step === undefined) return [schema]
      const inner = def.shape[String(step)]
      return inner === undefined ? [] : schemasAt(inner, rest)
    }
    default:
      return step === undefined ? [schema] : []
  }
}
