import { rulesOf, type Tree, walk } from './document.ts'

/** The constants in the files: all probes are made from them. */
export interface Constants {
  readonly paths: readonly string[]
  readonly hosts: readonly string[]
  readonly methods: readonly string[]
  readonly queries: readonly string[]
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly addresses: readonly string[]
  readonly serverNames: readonly string[]
  /**
   * The parts of tokens that are read: a tree of names, with the constants of the conditions that
   * read them.
   */
  readonly claims: ClaimNode
}

export interface ClaimNode {
  readonly strings: Set<string>
  readonly numbers: Set<number>
  readonly members: Map<string, ClaimNode>
}

const node = (): ClaimNode => ({ strings: new Set(), numbers: new Set(), members: new Map() })

/** Uses regular expressions over the text, and so does not depend on the parser under test. */
export function constantsOf(trees: readonly Tree[]): Constants {
  const sets = {
    paths: new Set(['/', '/nowhere']),
    hosts: new Set(['other.test']),
    methods: new Set(['GET', 'POST']),
    queries: new Set(['']),
    addresses: new Set<string>(),
    serverNames: new Set(['a.test', 'other.test']),
  }
  const headers = new Map<string, Set<string>>()
  const claims = node()
  const header = (name: string, values: readonly string[]) => {
    const own = headers.get(name.toLowerCase()) ?? new Set()
    for (const value of values) own.add(value)
    headers.set(name.toLowerCase(), own)
  }
  for (const tree of trees) {
    for (const { expression } of rulesOf(tree)) learn(expression)
    for (const [path, value] of walk(tree)) learnPlace(path, value)
  }

  function learn(text: string): void {
    const strings = [...text.matchAll(/'([^']*)'/g)].map(([, own]) => own as string)
    const bare = text.replaceAll(/'[^']*'/g, "''")
    const numbers = [...bare.matchAll(/(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/g)].map(Number)
    // Only the beginning of a regular expression.
    const bareStrings = strings.map((one) => one.replace(/^\^/, '').replace(/\$$/, ''))
    const looksLikePath = bareStrings.filter((one) => one.startsWith('/'))
    for (const path of looksLikePath) sets.paths.add(path.split('?')[0] as string)
    if (/request\.path/.test(bare)) for (const one of looksLikePath) sets.paths.add(one)
    if (/request\.host|headers\[''\]/.test(bare)) {
      for (const one of strings) if (/^$|\w\.\w|localhost/.test(one)) sets.hosts.add(one)
    }
    if (/request\.method/.test(bare))
      for (const one of strings) if (/^[A-Za-z]+$/.test(one)) sets.methods.add(one)
    if (/request\.query|pathAndQuery/.test(bare))
      for (const one of strings) sets.queries.add(one.replace(/^[^?]*\?/, ''))
    if (/destination\.hostname/.test(bare))
      for (const one of strings) if (/^[\w.]*$/.test(one)) sets.serverNames.add(one)
    for (const [, name] of text.matchAll(/headers\['([^']+)'\]|'([\w-]+)' in request\.headers/g)) {
      if (name !== undefined) header(name, strings)
    }
    for (const [, name] of text.matchAll(/'([\w-]+)' in request\.headers/g)) {
      header(name as string, strings)
    }
    for (const one of strings)
      if (/^[\da-f.:]+(\/\d+)?$/i.test(one) && /[.:]/.test(one)) sets.addresses.add(one)
    for (const [, chain] of text.matchAll(/\bjwt((?:\.\w+(?!\w*\()|\['\w+'\])+)/g)) {
      let at = claims
      for (const name of (chain as string).split(/[.'[\]]+/).filter((one) => one !== '')) {
        const member = at.members.get(name) ?? node()
        at.members.set(name, member)
        at = member
        for (const one of strings) at.strings.add(one)
        for (const one of numbers) at.numbers.add(one)
      }
    }
    for (const [, name, owner] of text.matchAll(/'(\w+)' in jwt((?:\.\w+)*)/g)) {
      let at: ClaimNode | undefined = claims
      for (const step of (owner as string).split('.').filter((one) => one !== ''))
        at = at?.members.get(step)
      if (at !== undefined && (at === claims || at.members.size > 0)) {
        at.members.set(name as string, at.members.get(name as string) ?? node())
      }
    }
  }

  function learnPlace(path: readonly (string | number)[], value: unknown): void {
    const last = path.at(-1)
    if (typeof value !== 'string') return
    if (last === 'condition') learn(value)
    if (path.at(-2) === 'path' && path.includes('matches') && last !== 'regex') {
      sets.paths.add(value)
    }
    if (last === 'method' && path.includes('matches')) sets.methods.add(value)
    if (last === 'hostname' || path.at(-2) === 'hostnames') {
      const name = value.replace(/^\*/, 'w')
      sets.hosts.add(name)
      sets.serverNames.add(name)
    }
  }

  for (const tree of trees) {
    for (const [path, value] of walk(tree)) {
      if (path.at(-2) !== 'headers' || !path.includes('matches')) continue
      const { name, value: wanted } = value as { name?: string; value?: { exact?: string } }
      if (name !== undefined) header(name, [wanted?.exact ?? ''])
    }
    if (JSON.stringify(tree).includes('"query":[')) sets.queries.add('q=1')
  }
  const list = (set: ReadonlySet<string>) => [...set]
  return {
    paths: list(sets.paths),
    hosts: list(sets.hosts),
    methods: list(sets.methods),
    queries: list(sets.queries),
    addresses: list(sets.addresses),
    serverNames: list(sets.serverNames).filter((one) => one !== ''),
    headers: new Map([...headers].map(([name, values]) => [name, list(values)])),
    claims,
  }
}
