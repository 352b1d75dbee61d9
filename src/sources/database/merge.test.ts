import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { locate } from '../../diagnostics/places.ts'
import { runToCompletion } from '../../model/steps.ts'
import { readDocument } from '../file/read.ts'
import { type Baseline, loadOver } from './load.ts'
import { mergeResources, type StoredResource } from './merge.ts'
import { resourcesOf } from './resources.ts'

const FILE = `gateways:
  default: { port: 8080 }
routes:
- name: orders
  matches: [{ path: { exact: /orders } }]
  backends: [{ host: 'orders:80' }]
- name: users
  backends: [{ host: 'users:80' }]
`

function edit(kind: StoredResource['kind'], id: string, fields: Partial<StoredResource>) {
  const own = { kind, id, state: 'set', value: null, base: null, revision: 1, created: 1 } as const
  return { ...own, author: 'alice', time: '2026-01-01T00:00:00Z', ...fields }
}

function baselineOf(text: string): Baseline {
  const { value: document } = readDocument(text, {
    file: 'gateway.yaml',
    environment: {},
    how: 'whole',
  })
  assert.ok(document)
  const { value } = document
  return {
    file: 'gateway.yaml',
    document,
    value,
    outline: document,
    resources: resourcesOf(value),
    digest: '',
  }
}

function load(text: string, ...stored: readonly StoredResource[]) {
  const baseline = baselineOf(text)
  return runToCompletion(loadOver(baseline, mergeResources(baseline.resources, stored)))
}

describe('a baseline with stored resources', () => {
  const base = { name: 'users', backends: [{ host: 'users:80' }] }

  it('keeps the places of the file, and reports stored ones by resource and field', () => {
    const { result, places } = load(
      FILE,
      edit('routes', 'users', {
        value: { name: 'users', backends: [{ host: 'other:80' }] },
        base,
      }),
      edit('backends', 'extra', { value: { name: 'extra', host: 'extra:80' } }),
    )
    assert.deepEqual(result.diagnostics, [])
    const origins = result.value?.routes.map(({ name, origin }) => [name, locate(places, origin)])
    assert.deepEqual(origins, [
      ['orders', { kind: 'file', file: 'gateway.yaml', line: 4, column: 3 }],
      ['users', { kind: 'object', object: 'database routes/users', field: '' }],
    ])
    assert.ok(result.value?.backends.some(({ name }) => name === 'extra'))
  })

  it('reports where in a stored resource an error is', () => {
    const rules = [{ allow: 'nonsense(' }]
    const { result } = load(
      FILE,
      edit('routes', 'new', {
        value: { name: 'new', policies: { authorization: { rules } } },
      }),
    )
    const wrong = result.diagnostics.find(({ code }) => code.startsWith('PC01'))
    assert.deepEqual(wrong?.origin, {
      kind: 'object',
      object: 'database routes/new',
      field: 'policies.authorization.rules[0].allow',
    })
  })

  it('omits hidden resources', () => {
    const { result } = load(FILE, edit('routes', 'users', { state: 'hidden', base }))
    assert.deepEqual(
      result.value?.routes.map(({ name }) => name),
      ['orders'],
    )
  })

  it('does not expand variables in stored resources', () => {
    const { result } = load(
      FILE,
      edit('routes', 'echo', {
        value: {
          name: 'echo',
          // biome-ignore lint/suspicious/noTemplateCurlyInString: must not be expanded
          policies: { directResponse: { status: 200, body: '${HOME}' } },
        },
      }),
    )
    assert.match(JSON.stringify(result.value), /\$\{HOME\}/)
  })

  it('reads no file that the baseline does not name', () => {
    const { result } = load(
      FILE,
      edit('gateways', 'tls', {
        value: {
          port: 8443,
          listeners: [
            { name: 'x', protocol: 'HTTPS', tls: { cert: '/etc/hostname', key: '/etc/hostname' } },
          ],
        },
      }),
    )
    const told = result.diagnostics.map(({ message }) => message).join('\n')
    assert.match(told, /only refer to files that the baseline file refers to/)
  })
})

describe('an edit of a resource of the baseline', () => {
  const base = { name: 'a', timeout: '1s', policies: { cors: { allowOrigins: ['a'] } } }
  const key = 'routes/a' as const
  const merge = (value: object, now: object) => {
    const baseline = new Map([[key, { kind: 'routes', id: 'a', value: now }]])
    const stored = [edit('routes', 'a', { value: value as never, base })]
    const [one] = mergeResources(baseline as never, stored).resources
    assert.ok(one)
    return one
  }

  it('follows the baseline in fields that were not edited', () => {
    const { value, provenance, drift } = merge(
      { ...base, timeout: '5s' },
      { ...base, policies: { cors: { allowOrigins: ['b'] }, csrf: {} } },
    )
    assert.deepEqual(value, {
      name: 'a',
      timeout: '5s',
      policies: { cors: { allowOrigins: ['b'] }, csrf: {} },
    })
    assert.deepEqual(provenance, {
      '/name': 'baseline',
      '/timeout': 'database',
      '/policies/cors/allowOrigins': 'baseline',
      '/policies/csrf': 'baseline',
    })
    assert.deepEqual(drift, [])
  })

  it('overrides a later change of the same field, and reports it', () => {
    const { value, drift } = merge({ ...base, timeout: '5s' }, { ...base, timeout: '9s' })
    assert.equal((value as { timeout: string }).timeout, '5s')
    assert.deepEqual(drift, ['/timeout'])
  })

  it('deletes a field permanently', () => {
    const { timeout: _, ...without } = base
    const { value } = merge(without, base)
    assert.deepEqual(value, without)
  })
})
