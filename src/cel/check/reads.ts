import type { Environment } from './environment.ts'
import { children, type Term } from './term.ts'
import type { Type } from './types.ts'

/** An attribute that an expression reads. */
export interface Read {
  /** `jwt.sub`, `request.headers['x-internal']` */
  readonly path: string
  readonly variable: string
  readonly fields: readonly string[]
  /** Whether the attribute can be absent, so that reading it is an error. */
  readonly absent: boolean
  /** Only its presence is tested: `has(jwt.sub)`. */
  readonly tested: boolean
}

/** The attributes that an expression reads, without duplicates, as the longest known paths. */
export function readsOf(term: Term, environment: Environment): readonly Read[] {
  const reads = new Map<string, Read>()
  const walk = (inner: Term, tested: boolean) => {
    const read = chain(inner, environment, tested)
    if (read === undefined) {
      for (const child of children(inner)) walk(child, false)
      return
    }
    const known = reads.get(read.path)
    if (known === undefined || (known.tested && !read.tested)) reads.set(read.path, read)
  }
  walk(term, false)
  return [...reads.values()]
}

export function readsAnything(term: Term): boolean {
  return term.kind === 'variable' || children(term).some(readsAnything)
}

/** A variable and the names selected from it; `undefined` for any other term. */
function chain(term: Term, environment: Environment, tested: boolean): Read | undefined {
  if (term.kind === 'variable') {
    const absent = environment.variables.get(term.name)?.set !== 'always'
    return { path: term.name, variable: term.name, fields: [], absent, tested }
  }
  if (term.kind !== 'field') return undefined
  const operand = chain(term.operand, environment, tested)
  if (operand === undefined) return undefined
  return {
    path: `${operand.path}${isName(term.field) ? `.${term.field}` : `['${term.field}']`}`,
    variable: operand.variable,
    fields: [...operand.fields, term.field],
    absent: operand.absent || mayLack(term.operand.type, term.field),
    tested: tested || term.access !== 'get',
  }
}

function mayLack(type: Type, field: string): boolean {
  return type.kind !== 'struct' || type.fields.get(field)?.set !== 'always'
}

export function isName(text: string): boolean {
  return /^[A-Za-z_]\w*$/.test(text)
}
