// HOT PATH: writes the JavaScript that decides rules; the code it writes is the cost of a rule.
// Guarded by bench/cel.ts; equals ./closures.ts and ../explain on any expression (test/fuzz).
// Liberties: expressions instead of statements, temporaries shared by the whole function.

import type { BindTerm, CoalesceTerm, Term } from '../check/term.ts'
import type { Value } from '../values/value.ts'
import { closeAbsence } from './closures.ts'
import { isPlainName, local } from './inline.ts'
import {
  writeCall,
  writeEqual,
  writeEqualValue,
  writeField,
  writeHas,
  writeIndex,
  writeMember,
  writeMemberValue,
  writeTest,
} from './source-atoms.ts'
import { writeLoop } from './source-loops.ts'
import { isAbsenceAlone } from './trace.ts'

/**
 * Three mutually recursive writers, each of which returns a JavaScript expression: `value` is the
 * CEL value, undefined for an error; `truth` is whether it is definitely true; `falsity` is whether
 * it is definitely false. Errors are neither, so `truth` and `falsity` need no error values, and
 * `&&`, `||` and `!` absorb errors exactly as CEL specifies.
 *
 * User text gets into the source only through JSON.stringify (names): literals become constants k0,
 * k1, …, which also lets all rules of one shape share their function.
 */
export class Source {
  readonly constants: unknown[] = []
  readonly #functions: string[] = []
  #temporaries = 0
  /** JavaScript names of the locals in scope, passed on to each inner function. */
  #locals: string[] = []
  metered = false

  /** Declarations of the inner functions and the body of the outermost one. */
  whole(root: string): string {
    const names = Array.from({ length: this.#temporaries }, (_, i) => `t${i}`)
    const declared = names.length === 0 ? '' : `let ${names.join()};`
    return `${this.#functions.join('')}return (c) => {${declared}${root}}`
  }

  constant(value: unknown): string {
    return `k${this.constants.push(value) - 1}`
  }

  temporary(): string {
    return `t${this.#temporaries++}`
  }

  value(term: Term): string {
    switch (term.kind) {
      case 'constant':
        return this.literal(term.value)
      case 'invalid':
        return 'undefined'
      case 'variable':
        return variable(term.name)
      case 'local':
        return local(term.slot)
      case 'field':
        return writeField(this, term)
      case 'index':
        return writeIndex(this, term)
      case 'equal':
        return writeEqualValue(this, term)
      case 'member':
        return writeMemberValue(this, term)
      case 'call':
        return writeCall(this, term)
      case 'and':
      case 'or': {
        const [t, u] = [this.temporary(), this.temporary()]
        const decisive = String(term.kind === 'or')
        const neutral = String(term.kind === 'and')
        const left = `(${t}=${this.value(term.left)})===${decisive}?${decisive}`
        const right = `(${u}=${this.value(term.right)})===${decisive}?${decisive}`
        return `(${left}:${right}:${t}===${neutral}&&${u}===${neutral}?${neutral}:undefined)`
      }
      case 'not': {
        const t = this.temporary()
        return `((${t}=${this.value(term.operand)})===true?false:${t}===false?true:undefined)`
      }
      case 'conditional': {
        const t = this.temporary()
        const condition = `(${t}=${this.value(term.condition)})`
        return `(${condition}===true?${this.value(term.whenTrue)}:${t}===false?${this.value(term.whenFalse)}:undefined)`
      }
      case 'list': {
        const values = term.elements.map((element) => this.value(element.value)).join()
        return `makeList([${values}]${this.optional(term.elements)})`
      }
      case 'map': {
        const parts = term.entries.flatMap(({ key, value }) => [this.value(key), this.value(value)])
        return `makeMap([${parts.join()}]${this.optional(term.entries)})`
      }
      case 'loop':
        return writeLoop(this, term, 'value')
      case 'bind':
        return this.bound(term, () => this.value(term.body), 'undefined')
      case 'optMap': {
        this.metered = true
        const body = () => {
          const inner = this.value(term.body)
          return term.flat ? `flat(${inner})` : `some(${inner})`
        }
        const t = this.temporary()
        const mapped = this.inner([local(term.local.slot)], () => `return ${body()}`)
        return `((${t}=${this.value(term.target)}) instanceof Optional?${t}.value===undefined?Optional.none:${mapped(`${t}.value`)}:undefined)`
      }
      case 'fallback': {
        const t = this.temporary()
        const [own, other] = [term.unwraps ? `${t}.value` : t, this.value(term.other)]
        const instead = term.unwraps ? other : `flat(${other})`
        return `((${t}=${this.value(term.optional)}) instanceof Optional?${t}.value!==undefined?${own}:${instead}:undefined)`
      }
      case 'coalesce':
        return term.onlyMissing ? this.default(term) : this.coalesce(term)
    }
  }

  truth(term: Term): string {
    switch (term.kind) {
      case 'constant':
        return String(term.value === true)
      case 'and':
        return `(${this.truth(term.left)}&&${this.truth(term.right)})`
      case 'or':
        return `(${this.truth(term.left)}||${this.truth(term.right)})`
      case 'not':
        return this.falsity(term.operand)
      case 'conditional': {
        const t = this.temporary()
        const condition = `(${t}=${this.value(term.condition)})`
        return `(${condition}===true?${this.truth(term.whenTrue)}:${t}===false&&${this.truth(term.whenFalse)})`
      }
      case 'field':
        return term.access === 'test' ? writeHas(this, term) : `${this.value(term)}===true`
      case 'equal':
        return writeEqual(this, term, !term.negated)
      case 'member':
        return writeMember(this, term, true)
      case 'call':
        return writeTest(this, term, true)
      case 'loop':
        return writeLoop(this, term, 'truth')
      case 'bind':
        return this.bound(term, () => this.truth(term.body), 'false')
      default:
        return `${this.value(term)}===true`
    }
  }

  falsity(term: Term): string {
    switch (term.kind) {
      case 'constant':
        return String(term.value === false)
      case 'and':
        return `(${this.falsity(term.left)}||${this.falsity(term.right)})`
      case 'or':
        return `(${this.falsity(term.left)}&&${this.falsity(term.right)})`
      case 'not':
        return this.truth(term.operand)
      case 'conditional': {
        const t = this.temporary()
        const condition = `(${t}=${this.value(term.condition)})`
        return `(${condition}===true?${this.falsity(term.whenTrue)}:${t}===false&&${this.falsity(term.whenFalse)})`
      }
      case 'equal':
        return writeEqual(this, term, term.negated)
      case 'member':
        return writeMember(this, term, false)
      case 'call':
        return writeTest(this, term, false)
      case 'loop':
        return writeLoop(this, term, 'falsity')
      case 'bind':
        return this.bound(term, () => this.falsity(term.body), 'false')
      default:
        return `${this.value(term)}===false`
    }
  }

  literal(value: Value): string {
    if (value === null || typeof value === 'boolean') return String(value)
    return this.constant(value)
  }

  /** The operand, and a test that it is not an error; a constant needs no temporary and no test. */
  operand(term: Term): { value: string; test: string | undefined } {
    if (term.kind === 'constant') return { value: this.literal(term.value), test: undefined }
    const t = this.temporary()
    return { value: t, test: `(${t}=${this.value(term)})!==undefined` }
  }

  /** `inside` if no operand is an error, else `otherwise`. */
  guarded(terms: readonly Term[], inside: (values: string[]) => string, otherwise: string): string {
    const operands = terms.map((term) => this.operand(term))
    const tests = operands.flatMap(({ test }) => (test === undefined ? [] : [test]))
    const code = inside(operands.map(({ value }) => value))
    return tests.length === 0 ? code : `(${tests.join('&&')}?${code}:${otherwise})`
  }

  optional(parts: readonly { readonly optional: boolean }[]): string {
    if (!parts.some(({ optional }) => optional)) return ''
    return `,${this.constant(parts.map(({ optional }) => optional))}`
  }

  bound(term: BindTerm, body: () => string, otherwise: string): string {
    this.metered = true
    const inner = this.inner([local(term.local.slot)], () => `return ${body()}`)
    if (!term.strict) return inner(this.value(term.value))
    const t = this.temporary()
    return `((${t}=${this.value(term.value)})!==undefined?${inner(t)}:${otherwise})`
  }

  coalesce({ choices }: CoalesceTerm): string {
    const [t, u] = [this.temporary(), this.temporary()]
    const tests = choices.map((choice) => `(${t}=${this.value(choice)})!=null?${t}:`)
    const [first, ...rest] = tests
    const later = rest.map((test) => `(${t}===null?${u}=null:0,${test}`).join('')
    const last = `${t}===null?null:${u}`
    return `(${u}=undefined,${first}${later}${last}${')'.repeat(choices.length)}`
  }

  default({ choices }: CoalesceTerm): string {
    const [wanted, other] = choices as [Term, Term]
    const t = this.temporary()
    const value = `(${t}=${this.value(wanted)})!=null?${t}`
    if (isAbsenceAlone(wanted)) return `(${value}:${this.value(other)})`
    const slots = this.#locals.map((name) => Number(name.slice(1)))
    const isAbsent = this.constant(closeAbsence(wanted, slots))
    const args = ['c', ...this.#locals].join()
    return `(${value}:${t}===null||${isAbsent}(${args})?${this.value(other)}:undefined)`
  }

  /** Writes a separate function for a scope: `(c, …outer locals, …parameters)`. */
  inner(parameters: readonly string[], body: () => string): (...args: string[]) => string {
    return this.function(parameters, parameters, body)
  }

  innerLoop(locals: string[], body: (declare: string[]) => string): (range: string) => string {
    return this.function(['r'], locals, () => `let ${locals.join()};${body(locals)}`)
  }

  function(parameters: readonly string[], locals: readonly string[], body: () => string) {
    const outer = this.#locals
    const outerTemporaries = this.#temporaries
    this.#temporaries = 0
    this.#locals = [...outer, ...locals]
    const code = body()
    const names = Array.from({ length: this.#temporaries }, (_, i) => `t${i}`)
    const declared = names.length === 0 ? '' : `let ${names.join()};`
    this.#temporaries = outerTemporaries
    this.#locals = outer
    const name = `q${this.#functions.length}`
    this.#functions.push(
      `const ${name}=(${['c', ...outer, ...parameters].join()})=>{${declared}${code}};`,
    )
    return (...args: string[]) => `${name}(${['c', ...outer, ...args].join()})`
  }
}

/** A name from the environment, never from the user; it is quoted nevertheless. */
function variable(name: string): string {
  return isPlainName(name) ? `c[${JSON.stringify(name)}]` : `own(c,${JSON.stringify(name)})`
}
