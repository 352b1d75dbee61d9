import { readFile, stat } from 'node:fs/promises'
import { type Address, literalAddress } from './addresses.ts'

/** The content of this machine's name files. */
export interface NameFiles {
  readonly hosts: ReadonlyMap<string, readonly Address[]>
  readonly search: readonly string[]
  readonly ndots: number
  /** Changes when the name servers may have changed. */
  readonly resolvConfText: string
}

/** Rereads the files when they have changed; a missing file counts as empty. */
export function nameFiles(hostsPath: string, resolvConfPath: string): () => Promise<NameFiles> {
  const hosts = watched(hostsPath, parseHosts)
  const resolvConf = watched(resolvConfPath, (text) => ({ ...parseResolvConf(text), text }))
  return async () => {
    const [byName, { search, ndots, text }] = await Promise.all([hosts(), resolvConf()])
    return { hosts: byName, search, ndots, resolvConfText: text }
  }
}

function watched<T>(path: string, parse: (text: string) => T): () => Promise<T> {
  let version = ''
  let parsed = parse('')
  return async () => {
    try {
      const { mtimeMs, size, ino } = await stat(path)
      const found = `${mtimeMs} ${size} ${ino}`
      if (found !== version) {
        parsed = parse(await readFile(path, 'utf8'))
        version = found
      }
    } catch {
      version = ''
      parsed = parse('')
    }
    return parsed
  }
}

export function parseHosts(text: string): ReadonlyMap<string, readonly Address[]> {
  const hosts = new Map<string, Address[]>()
  for (const line of text.split('\n')) {
    const [written = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const address = written === '' ? undefined : literalAddress(written)
    if (address === undefined) continue
    for (const name of names) {
      const key = name.toLowerCase()
      const known = hosts.get(key)
      if (known === undefined) hosts.set(key, [address])
      else known.push(address)
    }
  }
  return hosts
}

export function parseResolvConf(text: string): Pick<NameFiles, 'search' | 'ndots'> {
  let search: readonly string[] = []
  let ndots = 1
  for (const line of text.split('\n')) {
    const [keyword, ...words] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/)
    // The last one wins, as in resolv.conf(5).
    if (keyword === 'search' || keyword === 'domain') {
      search = words.map((word) => word.replace(/\.$/, '')).filter((word) => word !== '')
    }
    if (keyword !== 'options') continue
    for (const word of words) {
      const [, count] = /^ndots:([0-9]{1,2})$/.exec(word) ?? []
      if (count !== undefined) ndots = Math.min(15, Number(count))
    }
  }
  return { search, ndots }
}
