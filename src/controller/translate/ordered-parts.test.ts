import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { OrderedParts } from './ordered-parts.ts'
import type { Read } from './view.ts'

const KINDS = ['HTTPRoute', 'GRPCRoute']

interface Version {
  readonly kind: string
  readonly name: string
  readonly age: number
  /** Undefined: the object has no part. */
  readonly part: string | undefined
}

function readOf({ kind, name, age }: Version): Read {
  const creationTimestamp = new Date(age).toISOString()
  const metadata = { name, namespace: 'apps', creationTimestamp }
  return { kind, object: { apiVersion: 'v1', kind, metadata } } as unknown as Read
}

/** Objects by age, then name, then kind: each difference alone decides. */
function inOrder(all: Iterable<Version>): readonly (string | undefined)[] {
  const rank = ({ age, name, kind }: Version) => `${age} ${name} ${KINDS.indexOf(kind)}`
  return [...all].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).map(({ part }) => part)
}

describe('parts in the order of their objects', () => {
  const version = fc.record({
    kind: fc.constantFrom(...KINDS),
    name: fc.constantFrom('a', 'b', 'c'),
    age: fc.nat(2),
    part: fc.option(fc.stringMatching(/^[xyz]$/), { nil: undefined }),
  })

  it('are sorted by age, name and kind after any changes', () => {
    fc.assert(
      fc.property(fc.array(version, { maxLength: 30 }), (versions) => {
        const parts = new OrderedParts<string>(KINDS)
        const present = new Map<string, { readonly version: Version; readonly read: Read }>()
        for (const one of versions) {
          const key = `${one.kind} ${one.name}`
          const before = present.get(key)
          const read = readOf(one)
          const list = parts.list
          parts.change(before?.read, read, one.part)
          if (one.part === undefined) present.delete(key)
          else present.set(key, { version: one, read })
          const all = [...present.values()].map(({ version }) => version)
          assert.deepEqual(parts.list, inOrder(all))
          const isSame = before?.version.age === one.age && before.version.part === one.part
          if (isSame)
            assert.equal(parts.list, list, 'a list that did not change is the same object')
        }
        for (const { read } of present.values()) parts.change(read, undefined, undefined)
        assert.deepEqual(parts.list, [])
      }),
      { numRuns: 300, seed: 26 },
    )
  })
})
