import type { Expr, ListElement, MapEntry } from './ast.ts'
import { balance, isSignable, negated, PRECEDENCE, qualifiedName, RESERVED } from './grammar.ts'
import { Lexer, type Problem, type TokenKind } from './lexer.ts'
import { expandMacro } from './macros.ts'
import { MIN_INT_MAGNITUDE } from './number-literal.ts'
import { reservedHint, tokenHint } from './other-language-hints.ts'

export interface Limits {
  /** In UTF-16 code units. */
  readonly length: number
  /** Height of the tree. */
  readonly depth: number
  readonly nodes: number
}

const LIMITS: Limits = { length: 64 * 1024, depth: 200, nodes: 20_000 }

export interface Parsed {
  readonly expr: Expr | undefined
  readonly problem: Problem | undefined
}

/** Parses text into a tree. Never throws; returns a tree if and only if there is no problem. */
export function parse(text: string, limits = LIMITS, macros = true): Parsed {
  if (text.length > limits.length) {
    const message = `the expression is longer than ${limits.length} characters`
    return { expr: undefined, problem: { message, start: 0, end: text.length, limit: true } }
  }
  const parser = new Parser(text, limits, macros)
  const expr = parser.whole()
  const problem = parser.problem
  return problem === undefined ? { expr, problem } : { expr: undefined, problem }
}

class Parser {
  readonly #lexer: Lexer
  readonly #limits: Limits
  readonly #macros: boolean
  #nesting = 0
  #nodes = 0
  /** Height of the tree returned last. */
  #height = 0

  constructor(text: string, limits: Limits, macros: boolean) {
    this.#lexer = new Lexer(text)
    this.#limits = limits
    this.#macros = macros
    this.#lexer.next()
  }

  get problem(): Problem | undefined {
    return this.#lexer.problem
  }

  whole(): Expr {
    const expr = this.#expression()
    if (this.#lexer.kind !== 'end') this.#unexpected('the end of the expression')
    return expr
  }

  #expression(): Expr {
    if (++this.#nesting > this.#limits.depth) this.#tooDeep()
    const condition = this.#binary(1)
    this.#nesting--
    if (!this.#take('?')) return condition
    let height = this.#height
    const whenTrue = this.#binary(1)
    height = Math.max(height, this.#height)
    this.#expect(':')
    // A chain a ? b : c ? d : … nests to the right: each link adds one level.
    if (++this.#nesting > this.#limits.depth) this.#tooDeep()
    const whenFalse = this.#expression()
    this.#nesting--
    this.#raise(Math.max(height, this.#height))
    const { start } = condition
    return {
      kind: 'conditional',
      condition,
      whenTrue,
      whenFalse,
      start,
      end: this.#lexer.before,
    }
  }

  #binary(min: number): Expr {
    let left = this.#unary()
    for (;;) {
      const operator = this.#lexer.kind
      const precedence = PRECEDENCE.get(operator)
      if (precedence === undefined || precedence < min) return left
      if (precedence <= 2) {
        left = this.#logic(left, operator as '&&' | '||', precedence)
        continue
      }
      this.#lexer.next()
      const height = this.#height
      const right = this.#binary(precedence + 1)
      this.#raise(Math.max(height, this.#height))
      left = this.#call(
        operator === 'in' ? '@in' : `_${operator}_`,
        undefined,
        [left, right],
        left.start,
      )
    }
  }

  /** `a && b && c` becomes a balanced tree, so that long chains are not deep. */
  #logic(first: Expr, operator: '&&' | '||', precedence: number): Expr {
    const operands = [first]
    let height = this.#height
    while (this.#lexer.kind === operator) {
      this.#lexer.next()
      operands.push(this.#binary(precedence + 1))
      height = Math.max(height, this.#height)
    }
    this.#nodes += operands.length - 1
    this.#raise(height + Math.ceil(Math.log2(operands.length)) - 1)
    return balance(operands, operator === '&&' ? 'and' : 'or', 0, operands.length)
  }

  #unary(): Expr {
    const { start, kind } = this.#lexer
    if (kind !== '!' && kind !== '-') return this.#member()
    let count = 0
    while (this.#lexer.kind === kind) {
      this.#lexer.next()
      count++
    }
    // A minus sign before a number belongs to the number; otherwise the lowest int could not be
    // written.
    const { value } = this.#lexer
    if (kind === '-' && this.#lexer.kind === 'literal' && isSignable(value)) {
      if (count % 2 === 1) this.#lexer.value = negated(value)
      return this.#member(start)
    }
    const operand = this.#member()
    if (count % 2 === 0) return operand
    this.#raise(this.#height)
    if (kind === '-') return this.#call('-_', undefined, [operand], start)
    return { kind: 'not', operand, start, end: operand.end }
  }

  #member(from = this.#lexer.start): Expr {
    let expr = this.#primary(from)
    for (;;) {
      if (this.#lexer.kind === '.') {
        this.#lexer.next()
        expr = this.#selection(expr)
      } else if (this.#lexer.kind === '[') {
        this.#lexer.next()
        const height = this.#height
        const optional = this.#take('?')
        const index = this.#expression()
        this.#expect(']')
        this.#raise(Math.max(height, this.#height))
        const end = this.#lexer.before
        expr = { kind: 'index', operand: expr, index, optional, start: from, end }
      } else if (this.#lexer.kind === '{' && qualifiedName(expr) !== '') {
        expr = this.#message(expr)
      } else return expr
    }
  }

  #selection(operand: Expr): Expr {
    const optional = this.#take('?')
    const { kind, name, start: at } = this.#lexer
    if (kind !== 'ident' && kind !== 'quoted') {
      this.#unexpected('a field name')
      return operand
    }
    this.#lexer.next()
    const { start } = operand
    if (this.#lexer.kind === '(' && kind === 'ident' && !optional) {
      const height = this.#height
      const args = this.#arguments()
      this.#raise(Math.max(height, this.#height))
      return this.#call(name, operand, args, start, at)
    }
    this.#raise(this.#height)
    const end = this.#lexer.before
    return {
      kind: 'select',
      operand,
      field: name,
      optional,
      test: false,
      start,
      end,
    }
  }

  #primary(start: number): Expr {
    const lexer = this.#lexer
    this.#height = 1
    this.#count(start)
    switch (lexer.kind) {
      case 'literal':
        return this.#literal(start)
      case '(': {
        lexer.next()
        const inner = this.#expression()
        this.#expect(')')
        return inner
      }
      case '[':
        return this.#list(start)
      case '{':
        return this.#map(start)
      case '.':
      case 'ident':
        return this.#name(start)
      default:
        this.#unexpected('an expression')
        return { kind: 'literal', value: null, start, end: start }
    }
  }

  #literal(start: number): Expr {
    const { value } = this.#lexer
    if (value === MIN_INT_MAGNITUDE) {
      this.#lexer.fail('this number does not fit in 64 bits', start, this.#lexer.end)
    }
    this.#lexer.next()
    return { kind: 'literal', value, start, end: this.#lexer.before }
  }

  #name(start: number): Expr {
    const lexer = this.#lexer
    const absolute = this.#take('.')
    const { name, kind, start: at, end } = lexer
    if (kind !== 'ident') this.#unexpected('a name')
    else if (RESERVED.has(name)) {
      lexer.fail(`\`${name}\` is a reserved word`, at, end, {
        hint: reservedHint(lexer.text, name, at),
      })
    }
    lexer.next()
    if (this.#lexer.kind === '(') {
      const args = this.#arguments()
      this.#raise(this.#height)
      return this.#call(absolute ? `.${name}` : name, undefined, args, start)
    }
    return {
      kind: 'ident',
      name: absolute ? `.${name}` : name,
      start,
      end: lexer.before,
    }
  }

  #arguments(): Expr[] {
    this.#expect('(')
    const args: Expr[] = []
    let height = 1
    if (this.#lexer.kind !== ')') {
      do {
        args.push(this.#expression())
        height = Math.max(height, this.#height)
      } while (this.#take(','))
    }
    this.#expect(')')
    this.#height = height
    return args
  }

  #list(start: number): Expr {
    const elements: ListElement[] = []
    let height = 1
    this.#expect('[')
    while (this.#lexer.kind !== ']' && this.#lexer.kind !== 'end') {
      const optional = this.#take('?')
      elements.push({ value: this.#expression(), optional })
      height = Math.max(height, this.#height)
      if (!this.#take(',')) break
    }
    this.#expect(']')
    this.#raise(height)
    return { kind: 'list', elements, start, end: this.#lexer.before }
  }

  #map(start: number): Expr {
    const entries: MapEntry[] = []
    let height = 1
    this.#expect('{')
    while (this.#lexer.kind !== '}' && this.#lexer.kind !== 'end') {
      const optional = this.#take('?')
      const key = this.#expression()
      height = Math.max(height, this.#height)
      this.#expect(':')
      entries.push({ key, value: this.#expression(), optional })
      height = Math.max(height, this.#height)
      if (!this.#take(',')) break
    }
    this.#expect('}')
    this.#raise(height)
    return { kind: 'map', entries, start, end: this.#lexer.before }
  }

  #message(name: Expr): Expr {
    this.#expect('{')
    while (
      this.#lexer.kind === 'ident' ||
      this.#lexer.kind === 'quoted' ||
      this.#lexer.kind === '?'
    ) {
      this.#take('?')
      this.#lexer.next()
      this.#expect(':')
      this.#expression()
      if (!this.#take(',')) break
    }
    this.#expect('}')
    const { start } = name
    return {
      kind: 'message',
      name: qualifiedName(name),
      start,
      end: this.#lexer.before,
    }
  }

  #call(name: string, target: Expr | undefined, args: Expr[], start: number, nameAt = start): Expr {
    this.#count(start)
    const call = {
      kind: 'call',
      name,
      target,
      args,
      start,
      end: this.#lexer.before,
    } as const
    if (!this.#macros) return call
    const expanded = expandMacro(call, (message, at) => {
      this.#lexer.fail(message, at?.start ?? nameAt, at?.end ?? call.end)
    })
    return expanded ?? call
  }

  #take(kind: TokenKind): boolean {
    if (this.#lexer.kind !== kind) return false
    this.#lexer.next()
    return true
  }

  #expect(kind: TokenKind): void {
    if (!this.#take(kind)) this.#unexpected(`\`${kind}\``)
  }

  #unexpected(wanted: string): void {
    const { kind, start, end, text } = this.#lexer
    const found = kind === 'end' ? 'the end of the expression' : text.slice(start, end)
    const hint = tokenHint(text, start, end, this.#lexer.before)
    const more = hint === undefined ? {} : { hint }
    this.#lexer.fail(`expected ${wanted}, found ${found}`, start, Math.max(end, start), more)
  }

  #raise(below: number): void {
    this.#height = below + 1
    if (this.#height > this.#limits.depth) this.#tooDeep()
  }

  #tooDeep(): void {
    const message = `the expression has more than ${this.#limits.depth} levels of nesting`
    this.#lexer.fail(message, this.#lexer.start, this.#lexer.end, { limit: true })
  }

  #count(start: number): void {
    if (++this.#nodes <= this.#limits.nodes) return
    const message = `the expression has more than ${this.#limits.nodes} nodes`
    this.#lexer.fail(message, start, this.#lexer.end, { limit: true })
  }
}
