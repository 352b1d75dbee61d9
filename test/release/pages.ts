import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeAuthority } from '../../src/cli/suite/certificate.ts'
import type { NewcomerPage } from './newcomer.ts'

const ROOT = join(import.meta.dirname, '../..')

/** One page of each kind, or more. */
export const PAGES = [
  'docs/cookbook/tls-and-sni.md',
  'docs/cookbook/rate-limits.md',
  'docs/tasks/use-api-keys.md',
  'docs/cookbook/redirects-and-rewrites.md',
  'docs/cookbook/llm-failover.md',
  'docs/tasks/restrict-mcp-tools.md',
  'docs/cookbook/hardening.md',
  'docs/migrate/nginx.md',
]

/** Kind → its pages: the tables of the cookbook, and the gateways to migrate from. */
export function cookbookKinds(): ReadonlyMap<string, readonly string[]> {
  const readme = readFileSync(join(ROOT, 'docs/cookbook/README.md'), 'utf8')
  const pagesIn = (text: string) =>
    [...text.matchAll(/\]\((\S+?\.md)\)/g)].map(([, page = '']) => join('docs/cookbook', page))
  const tables = [...readme.matchAll(/^\| (.+?) \| \|\n\|---\|---\|\n((?:\|.*\n)+)/gm)]
  const [, others = ''] = /^Coming from (.*)$/m.exec(readme) ?? []
  return new Map([
    ...tables.map(([, kind = '', rows = '']) => [kind, pagesIn(rows)] as const),
    ['coming from', pagesIn(others)],
  ])
}

/** The lines of the README's first minute that are typed beside the gateway. */
export function firstMinuteLines(): readonly string[] {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const blocks = [...readme.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block)
  const block = blocks.find((one) => one.startsWith('curl')) ?? ''
  const lines = block.replaceAll('\\\n', '').trim().split('\n')
  return lines.map((line) => line.replace(/^npx portcullis/, 'portcullis'))
}

/** The files of the pages, with test certificates in place of the reader's own. */
export function cookbookPages(): readonly NewcomerPage[] {
  const authority = makeAuthority('newcomer')
  return PAGES.map((name) => {
    const page = readFileSync(join(ROOT, name), 'utf8')
    const blocks = [...page.matchAll(/^```yaml\n(# ([\w-]+\.yaml)\n.*?)^```/gms)]
    const files: Record<string, string> = {}
    for (const [, text = '', file = ''] of blocks) {
      files[file] = text
      const { cert, key } = authority.issue('localhost', ['DNS:localhost'])
      for (const [path] of text.matchAll(/[\w./-]+\.(?:crt|key|pem|htpasswd)\b/g)) {
        files[path] = path.endsWith('.htpasswd')
          ? 'ada:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n'
          : /ca\./.test(path)
            ? authority.cert
            : /key/.test(path)
              ? key
              : cert
      }
    }
    return { name, files }
  })
}
