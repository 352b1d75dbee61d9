// Reading a file again with its known items has the same result as reading it from scratch.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { Model } from '../../src/model/model.ts'
import { reconcile } from '../../src/model/reconcile.ts'
import { runToCompletion } from '../../src/model/steps.ts'
import { KnownItems } from '../../src/sources/file/known-items.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { Random } from '../truth/random.ts'
import { assertSeeds } from './assert-property.ts'
import { fuzz } from './runs.ts'

/** Each is the lines of one item, with names, errors, files, variables and comments. */
function route(random: Random, name: string): string {
  const lines = [
    random.pick([`- name: ${name}`, `- name: ${name}`, `- ruleName: ${name}`, '- matches: []']),
    ...random.some(
      [
        '  hostnames: [a.test]',
        '  gateways: other',
        '  # a comment',
        '',
        '  nonsense: 1',
        `  namespace: n${random.int(2)}`,
      ],
      random.int(3),
    ),
    ...random.pick([
      [],
      ['  policies:', `    authorization: {rules: [{deny: request.path == '/${random.int(3)}'}]}`],
      [
        '  policies:',
        '    authorization:',
        '      rules:',
        '      - require: jwt.sub ==',
        "          'a'",
      ],
      ['  policies:', '    authorization: {rules: [{allow: nothing}]}'],
      ['  policies:', '    requestHeaders: {set: {x-a: $WORD}}'],
      ['  policies:', '    basicAuth: {htpasswd: {file: users}}'],
      ['  policies:', '    transformations:', '      request:', '        set: {x-a: "\'b\'"}'],
      ['  policies:', '    directResponse: {status: 204}'],
    ]),
    ...random.pick([
      [],
      ['  backends:', '  - backend: up'],
      ['  backends: [{backend: missing}]'],
      ['  backends:', `  - host: 127.0.0.1:${4000 + random.int(3)}`],
      ['  backends:', '  - backend: up', `    weight: ${random.int(2)}`, '  - host: 127.0.0.1:4'],
    ]),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

const backend = (random: Random, name: string) =>
  `- name: ${name}\n  host: 127.0.0.1:${5000 + random.int(2)}\n`

interface Written {
  readonly head: string
  readonly routes: readonly string[]
  readonly backends: readonly string[]
  readonly tail: string
}

function edited(random: Random, { head, routes, backends, tail }: Written, n: number): Written {
  const next = [...routes]
  const at = random.int(next.length + 1)
  switch (random.int(7)) {
    case 0:
      next.splice(at, 0, route(random, `new-${n}`))
      break
    case 1:
      next.splice(at, 1)
      break
    case 2:
      if (at < next.length) next[at] = route(random, `other-${n}`)
      break
    case 3: {
      const [moved] = next.splice(at, 1)
      if (moved !== undefined) next.splice(random.int(next.length + 1), 0, moved)
      break
    }
    case 4:
      // Duplicates the item, with the same name or without a name.
      if (at < next.length) next.splice(random.int(next.length), 0, next[at] as string)
      break
    case 5:
      return { head: `${'# more\n'.repeat(random.int(3))}${HEAD}`, routes, backends, tail }
    default:
      return {
        head,
        routes,
        backends: [...backends, backend(random, `up-${n}`)].slice(random.int(2)),
        tail: random.pick(TAILS),
      }
  }
  return { head, routes: next, backends, tail }
}

const HEAD = 'config: {adminAddr: off}\ngateways:\n  default: {port: 4001}\n  other: {port: 4002}\n'
const TAILS = [
  '',
  'policies:\n- name: all\n  target: {route: new-1}\n  traffic: {timeout: {request: 1s}}\n',
  'frontendPolicies:\n  networkAuthorization: {rules: [{deny: source.port == 1}]}\n',
]

function textOf({ head, routes, backends, tail }: Written): string {
  const list = (key: string, items: readonly string[]) =>
    items.length === 0 ? '' : `${key}:\n${items.join('')}`
  return `${head}${list('routes', routes)}${list('backends', backends)}${tail}`
}

describe('a file that is reloaded', () => {
  const runs = fuzz(0.15)
  const folder = mkdtempSync(join(tmpdir(), 'known-items-'))
  after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  let word = ''
  const load = (text: string, known?: KnownItems) =>
    loadText(text, file, { environment: { WORD: word }, known })

  it('has the same result as when read from scratch, and reuses the unchanged items', async () => {
    const seen = { kept: 0, routes: 0, errors: 0 }
    await assertSeeds('known-items', runs, (seed) => {
      const random = new Random(seed)
      const known = new KnownItems()
      let written: Written = {
        head: HEAD,
        routes: Array.from({ length: random.int(8) }, (_, n) => route(random, `r-${n}`)),
        backends: [backend(random, 'up')],
        tail: '',
      }
      let served: Model | undefined
      for (let step = 0; step < 10; step++) {
        writeFileSync(join(folder, 'users'), `ann:{SHA}${'x'.repeat(27 + random.int(2))}=\n`)
        word = random.pick(['one', 'two'])
        const text = textOf(written)
        const what = `seed ${seed}, step ${step}:\n${text}`
        const anew = load(text)
        const again = load(text, known)
        assert.deepEqual({ ...again, places: undefined }, { ...anew, places: undefined }, what)
        seen.errors += anew.result.diagnostics.length
        const { value } = again.result
        if (value !== undefined) {
          const before = served
          served = runToCompletion(reconcile(before, value))
          assert.deepEqual(served, anew.result.value, what)
          const isKept = new Set<object>(before?.routes)
          seen.routes += served.routes.length
          seen.kept += served.routes.filter((one) => isKept.has(one)).length
        }
        written = edited(random, written, step)
      }
    })
    // Otherwise the test proves nothing.
    assert.ok(seen.kept > seen.routes * 0.6, JSON.stringify(seen))
    assert.ok(seen.errors > runs.numRuns, JSON.stringify(seen))
  })
})
