import { readFileSync } from 'node:fs'

/*
 * The types of the vendors' SDKs, read from their declarations: which members of a request or a
 * response are strings, and how to write one of them.
 */

interface Member {
  readonly name: string
  readonly type: Type
  readonly isOptional: boolean
}

type Type =
  | { readonly kind: 'string' | 'any' | 'other' }
  | { readonly kind: 'literal'; readonly value: unknown }
  | { readonly kind: 'list'; readonly of: Type }
  | { readonly kind: 'record'; readonly of: Type }
  | { readonly kind: 'union'; readonly of: readonly Type[] }
  | { readonly kind: 'object'; readonly members: readonly Member[] }
  | { readonly kind: 'name'; readonly name: string; readonly scope: string }

/** A value with a text in one of its strings. */
export interface Sample {
  readonly value: unknown
  /** The type and the member that have the text: `Message.content`. */
  readonly label: string
}

interface Declaration {
  readonly type: Type
  readonly base: readonly string[]
  readonly scope: string
}

/** The declarations of some files of one package, by name. */
export class SdkTypes {
  readonly #known = new Map<string, Declaration>()

  constructor(files: readonly string[]) {
    for (const file of files) this.#declare(tokensOf(readFileSync(file, 'utf8')))
  }

  /** Writes `text` into every string of a type; what `isLeft` names is left out. */
  samples(name: string, text: string, isLeft: (member: string) => boolean): readonly Sample[] {
    const out: Sample[] = []
    const { members } = this.#fields(name, '')
    for (const member of members) {
      if (isLeft(member.name)) continue
      for (const one of this.#of(member.type, text, new Set([name]))) {
        const value = { [member.name]: one.value }
        out.push({ value, label: one.label || `${name}.${member.name}` })
      }
    }
    return out
  }

  *#of(type: Type, text: string, seen: Set<string>): Generator<Sample> {
    switch (type.kind) {
      case 'string':
      case 'any':
        yield { value: text, label: '' }
        return
      case 'list':
        for (const one of this.#of(type.of, text, seen)) yield { ...one, value: [one.value] }
        return
      case 'record':
        yield { value: { [text]: true }, label: '' }
        for (const one of this.#of(type.of, text, seen)) yield { ...one, value: { a: one.value } }
        return
      case 'union':
        for (const each of type.of) yield* this.#of(each, text, seen)
        return
      case 'object':
        yield* this.#ofMembers('', type.members, text, seen)
        return
      case 'name': {
        const known = this.#find(type.name, type.scope)
        if (known === undefined || seen.has(known)) return
        seen.add(known)
        const { type: own } = this.#known.get(known) as Declaration
        if (own.kind !== 'object') yield* this.#of(own, text, seen)
        else yield* this.#ofMembers(known, this.#fields(known, '').members, text, seen)
      }
    }
  }

  *#ofMembers(
    name: string,
    members: readonly Member[],
    text: string,
    seen: Set<string>,
  ): Generator<Sample> {
    const required = Object.fromEntries(
      members.flatMap(({ name: own, type, isOptional }) => {
        const value = isOptional ? undefined : this.#literalOf(type)
        return value === undefined ? [] : [[own, value]]
      }),
    )
    for (const member of members) {
      for (const one of this.#of(member.type, text, seen)) {
        const value = { ...required, [member.name]: one.value }
        yield { value, label: one.label || `${name}.${member.name}` }
      }
    }
  }

  #literalOf(type: Type): unknown {
    if (type.kind === 'literal') return type.value
    if (type.kind === 'union') return this.#literalOf(type.of[0] as Type)
    return undefined
  }

  #fields(name: string, scope: string): { readonly members: readonly Member[] } {
    const {
      type,
      base,
      scope: own,
    } = this.#known.get(this.#find(name, scope) ?? '') ?? {
      ...{ type: undefined, base: [], scope },
    }
    const members = type?.kind === 'object' ? type.members : []
    const names = new Set(members.map((one) => one.name))
    const inherited = base.flatMap((one) => this.#fields(one, own).members)
    return { members: [...members, ...inherited.filter((one) => !names.has(one.name))] }
  }

  /** A name is looked for in the namespaces around it, and without that of an import. */
  #find(name: string, scope: string): string | undefined {
    for (let at = scope; ; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
      const full = at === '' ? name : `${at}.${name}`
      if (this.#known.has(full)) return full
      if (at === '') break
    }
    const short = name.slice(name.indexOf('.') + 1)
    return short !== name ? this.#find(short, '') : undefined
  }

  #declare(tokens: readonly string[]): void {
    const scopes: string[] = []
    const open: boolean[] = []
    for (let at = 0; at < tokens.length; ) {
      const word = tokens[at]
      const name = tokens[at + 1] ?? ''
      if (word === 'namespace') {
        scopes.push(name)
        open.push(true)
        at += 3
      } else if (word === 'interface') {
        const reader = new TypeReader(tokens, at + 2, scopes.join('.'))
        const base = reader.bases()
        this.#add(scopes, name, { type: reader.object(), base })
        at = reader.at
      } else if (word === 'type' && tokens[at + 2] === '=') {
        const reader = new TypeReader(tokens, at + 3, scopes.join('.'))
        this.#add(scopes, name, { type: reader.union(), base: [] })
        at = reader.at
      } else {
        if (word === '{') open.push(false)
        if (word === '}' && open.pop() === true) scopes.pop()
        at++
      }
    }
  }

  #add(scopes: readonly string[], name: string, own: Pick<Declaration, 'type' | 'base'>): void {
    const full = [...scopes, name].join('.')
    // The members of a type are looked for in its own namespace first.
    this.#known.set(full, { ...own, scope: full })
  }
}

function tokensOf(text: string): readonly string[] {
  const plain = text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '')
  return plain.match(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\w$.]+|=>|[^\s]/g) ?? []
}

class TypeReader {
  at: number
  readonly #tokens: readonly string[]
  readonly #scope: string

  constructor(tokens: readonly string[], at: number, scope: string) {
    this.#tokens = tokens
    this.at = at
    this.#scope = scope
  }

  get #next(): string {
    return this.#tokens[this.at] ?? ''
  }

  #take(): string {
    return this.#tokens[this.at++] ?? ''
  }

  bases(): readonly string[] {
    const out: string[] = []
    while (this.#next !== '{') {
      const word = this.#take()
      if (/^[A-Z]/.test(word) && word !== 'Omit') out.push(word)
    }
    return out
  }

  object(): Type {
    this.#take()
    const members: Member[] = []
    let record: Type | undefined
    while (this.#next !== '}') {
      if (this.#next === '[') {
        while (this.#take() !== ']');
        this.#take()
        record = this.union()
      } else {
        const name = this.#take().replace(/^['"]|['"]$/g, '')
        const isOptional = this.#next === '?'
        if (isOptional) this.#take()
        this.#take()
        members.push({ name, type: this.union(), isOptional })
      }
      if (this.#next === ';' || this.#next === ',') this.#take()
    }
    this.#take()
    return record === undefined ? { kind: 'object', members } : { kind: 'record', of: record }
  }

  union(): Type {
    if (this.#next === '|') this.#take()
    const all = [this.#single()]
    while (this.#next === '|' || this.#next === '&') {
      this.#take()
      all.push(this.#single())
    }
    return all.length === 1 ? (all[0] as Type) : { kind: 'union', of: all }
  }

  #single(): Type {
    let type = this.#simple()
    while (this.#next === '[' && this.#tokens[this.at + 1] === ']') {
      this.at += 2
      type = { kind: 'list', of: type }
    }
    return type
  }

  #simple(): Type {
    if (this.#next === '{') return this.object()
    const word = this.#take()
    if (word === '(') {
      const own = this.union()
      this.#take()
      return own
    }
    if (/^['"]/.test(word)) return { kind: 'literal', value: word.slice(1, -1) }
    if (word === 'string') return { kind: 'string' }
    if (word === 'unknown' || word === 'any') return { kind: 'any' }
    if (!/^[A-Z]/.test(word)) return { kind: 'other' }
    if (this.#next !== '<') return { kind: 'name', name: word, scope: this.#scope }
    this.#take()
    const given = [this.union()]
    while (this.#take() === ',') given.push(this.union())
    if (word === 'Array') return { kind: 'list', of: given[0] as Type }
    if (word === 'Record') return { kind: 'record', of: given[1] as Type }
    return given[0] as Type
  }
}
