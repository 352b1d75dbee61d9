import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { JsonValue } from '../../model/json.ts'
import { pointerOf, stepsOf } from '../../model/json-pointer.ts'
import { fieldOrigins, type StoredEdit } from './field-origins.ts'
import { mergedValue, mergeResources, type StoredResource } from './merge.ts'
import { keyOf, type Resource } from './resources.ts'

const OWN = { kind: 'routes', id: 'orders' } as const

type Written = Pick<StoredEdit, 'state' | 'value' | 'base'>
const set = (base: JsonValue, value: JsonValue): Written => ({ state: 'set', value, base })
const hide = (base: JsonValue): Written => ({ state: 'hidden', value: null, base })
const reset = (base: JsonValue): Written => ({ state: 'reset', value: null, base })

/** Oldest first, with revisions 1, 2, 3 … */
function origins(now: JsonValue, written: readonly Written[], asked = '', pageSize = 2) {
  const edits = written.map((one, index) => ({
    ...one,
    revision: index + 1,
    author: `author-${index + 1}`,
    time: '',
    comment: '',
  }))
  const newest = edits.at(-1)
  const stored: readonly StoredResource[] =
    newest === undefined || newest.state === 'reset'
      ? []
      : [{ ...OWN, ...newest, state: newest.state, created: 1 }]
  const baseline = new Map<ReturnType<typeof keyOf>, Resource>(
    now === null ? [] : [[keyOf(OWN), { ...OWN, value: now }]],
  )
  const { resources, hidden } = mergeResources(baseline, stored)
  const found = resources[0] ?? hidden[0] ?? assert.fail('there is no resource')
  const read = async (before: number) =>
    edits
      .filter(({ revision }) => revision < before)
      .reverse()
      .slice(0, pageSize)
  return fieldOrigins(found, hidden.length > 0, read, stepsOf(asked))
}

async function shown(...given: Parameters<typeof origins>) {
  const found = await origins(...given)
  return found?.map(({ steps, edit, isRemoved, isDrifted }) =>
    [
      `${pointerOf(steps)} ${edit === undefined ? 'file' : edit.revision}`,
      ...(isRemoved ? ['removed'] : []),
      ...(isDrifted ? ['drifted'] : []),
    ].join(' '),
  )
}

const FILE = { name: 'orders', hostnames: ['a'], policies: { timeout: '1s', retry: 2 } }
const later = { ...FILE, policies: { timeout: '2s', retry: 2 } }
const both = { ...later, hostnames: ['b'] }

describe('field origins', () => {
  for (const [what, now, written, expected, asked = ''] of [
    ['a resource of the file', FILE, [], [' file']],
    [
      'one edit',
      FILE,
      [set(FILE, later)],
      ['/name file', '/hostnames file', '/policies/timeout 1', '/policies/retry file'],
    ],
    [
      'an edit that left the field of an earlier one alone',
      FILE,
      [set(FILE, later), set(FILE, both)],
      ['/name file', '/hostnames 2', '/policies/timeout 1', '/policies/retry file'],
    ],
    ['one field of it', FILE, [set(FILE, later), set(FILE, both)], ['/hostnames 2'], '/hostnames'],
    [
      'what is below a field',
      FILE,
      [set(FILE, later), set(FILE, both)],
      ['/policies/timeout 1', '/policies/retry file'],
      '/policies',
    ],
    ['a field within one of the file', FILE, [], ['/policies/retry file'], '/policies/retry'],
    ['a field that is not there', FILE, [set(FILE, later)], undefined, '/nothing'],
    [
      'a change and the way back to it',
      FILE,
      [set(FILE, later), set(FILE, both), set(FILE, later)],
      ['/name file', '/hostnames file', '/policies/timeout 1', '/policies/retry file'],
    ],
    [
      'a field that was set to what the file says by now',
      both,
      [set(FILE, both)],
      ['/name file', '/hostnames 1', '/policies/timeout 1', '/policies/retry file'],
    ],
    [
      'an edit of what the file had changed meanwhile',
      { ...FILE, hostnames: ['c'] },
      [set(FILE, later), set({ ...FILE, hostnames: ['c'] }, later)],
      ['/hostnames 2'],
      '/hostnames',
    ],
    [
      'a field that drifted',
      { ...FILE, hostnames: ['c'] },
      [set(FILE, both)],
      ['/hostnames 1 drifted'],
      '/hostnames',
    ],
    [
      'a field that an edit took away',
      FILE,
      [set(FILE, later), set(FILE, { name: 'orders', policies: later.policies })],
      ['/hostnames 2 removed'],
      '/hostnames',
    ],
    [
      'a new resource, by the revisions of its fields',
      null,
      [set(null, { name: 'x', a: { b: 1, c: 2 } }), set(null, { name: 'x', a: { b: 1, c: 3 } })],
      ['/name 1', '/a/b 1', '/a/c 2'],
    ],
    ['a new resource that was not changed since', null, [set(null, { name: 'x', a: 1 })], [' 1']],
    [
      'an item of a list that was edited',
      FILE,
      [set(FILE, both)],
      ['/hostnames/0 1'],
      '/hostnames/0',
    ],
    [
      'an item that an edit of its list left alone',
      FILE,
      [set(FILE, { ...FILE, hostnames: ['a', 'b'] })],
      ['/hostnames/0 1'],
      '/hostnames/0',
    ],
    ['a resource that was deleted', FILE, [set(FILE, later), hide(FILE)], [' 2 removed']],
    [
      'a resource that was deleted and set again',
      FILE,
      [hide(FILE), set(FILE, later)],
      ['/policies/timeout 2'],
      '/policies/timeout',
    ],
    ['an edit that was reverted', FILE, [set(FILE, later), reset(FILE)], [' file']],
    [
      'an edit after one that was reverted',
      FILE,
      [set(FILE, later), reset(FILE), set(FILE, later)],
      ['/policies/timeout 3'],
      '/policies/timeout',
    ],
  ] as const) {
    it(`${what}`, async () => {
      const found = await shown(now as JsonValue, written as readonly Written[], asked)
      assert.deepEqual(found, expected)
    })
  }

  it('are the last revision that changed the field, whatever was edited', async () => {
    const value = fc.record(
      { a: fc.integer({ min: 0, max: 2 }), b: fc.record({ c: fc.integer({ min: 0, max: 2 }) }) },
      { requiredKeys: ['a', 'b'] },
    )
    const history = fc.array(fc.record({ value, isBaseline: fc.boolean() }), {
      minLength: 1,
      maxLength: 8,
    })
    await fc.assert(
      fc.asyncProperty(value, history, fc.integer({ min: 1, max: 9 }), async (first, all, size) => {
        // Replays the served configuration step by step, as an operator would see it.
        let baseline: JsonValue = first
        let served: JsonValue = first
        const written: Written[] = []
        const last: Record<string, number> = {}
        for (const { value: wanted, isBaseline } of all) {
          if (isBaseline) {
            baseline = wanted
            const newest = written.at(-1)
            served = newest === undefined ? baseline : mergedValue(newest, baseline)
            continue
          }
          written.push(set(baseline, wanted))
          for (const pointer of ['/a', '/b/c']) {
            if (at(served, pointer) !== at(wanted, pointer)) last[pointer] = written.length
          }
          served = wanted
        }
        for (const pointer of ['/a', '/b/c']) {
          const found = await origins(baseline, written, pointer, size)
          const [{ from, edit } = assert.fail()] = found ?? []
          if (from === 'database') assert.equal(edit?.revision, last[pointer])
        }
      }),
    )
  })
})

function at(value: JsonValue, pointer: string): unknown {
  return stepsOf(pointer).reduce<unknown>(
    (inner, step) => (inner as Readonly<Record<string, unknown>>)[step],
    value,
  )
}
