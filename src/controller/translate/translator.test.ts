import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultSettings } from '../../sources/file/sections/config.ts'
import type { KubeObject } from '../cluster/object.ts'
import { SnapshotStore } from '../cluster/snapshot.ts'
import { Translator } from './translator.ts'

const CONTROLLER = 'portcullis.dev/controller'
const GATEWAY_API = 'gateway.networking.k8s.io/v1'

function object(kind: string, name: string, spec: unknown, apiVersion = GATEWAY_API): KubeObject {
  const metadata = { name, ...(kind === 'GatewayClass' ? {} : { namespace: 'apps' }) }
  return { apiVersion, kind, metadata, spec }
}

function gateway(more: object = {}): KubeObject {
  const listeners = [{ name: 'http', port: 80, protocol: 'HTTP' }]
  return object('Gateway', 'edge', { gatewayClassName: 'portcullis', listeners, ...more })
}

function policy(expression: string): KubeObject {
  const target = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }
  const authorization = { action: 'Deny', policy: { matchExpressions: [expression] } }
  const spec = { targetRefs: [target], traffic: { authorization } }
  return object('ProxyPolicy', 'deny', spec, 'portcullis.dev/v1alpha1')
}

function started(options: { readonly gatewayNamespaces?: readonly string[] } = {}) {
  const store = new SnapshotStore()
  const settings = defaultSettings()
  const translator = new Translator({ controllerName: CONTROLLER, settings, ...options })
  const put = (...objects: readonly KubeObject[]) => {
    for (const one of objects) store.put(one.kind, one)
    return translator.translate(store.take())
  }
  put(object('GatewayClass', 'portcullis', { controllerName: CONTROLLER }))
  return put
}

describe('a Gateway that is no longer accepted', () => {
  const reasons: readonly (readonly [string, object])[] = [
    [
      'parameters that are not there',
      {
        infrastructure: {
          parametersRef: { group: 'portcullis.dev', kind: 'ProxyParameters', name: 'x' },
        },
      },
    ],
    ['an address of an unknown type', { addresses: [{ type: 'example.com/x', value: 'y' }] }],
  ]
  for (const [title, spec] of reasons) {
    it(`is not deployed, and its proxies still get every change: ${title}`, () => {
      const put = started()
      assert.equal(put(gateway(), policy("request.path == '/a'")).deployed.size, 1)
      const after = put(gateway(spec), policy("request.path == '/b'"))
      assert.equal(after.deployed.size, 0)
      assert.match(JSON.stringify(after.models.get('apps/edge')), /'\/b'/)
      const status = after.statuses().find(({ kind }) => kind === 'Gateway')
      assert.equal(status?.conditions?.[0]?.status, 'False')
    })
  }

  it('receives nothing in a namespace where proxies may not be deployed', () => {
    const put = started({ gatewayNamespaces: ['other'] })
    const { models, deployed, statuses } = put(gateway())
    assert.deepEqual([models.size, deployed.size], [0, 0])
    const status = statuses().find(({ kind }) => kind === 'Gateway')
    assert.match(status?.conditions?.[0]?.message ?? '', /no longer receive changes/)
  })
})

describe('an InferencePool among manifests', () => {
  it('uses its endpoint picker, also if that appears elsewhere in the cluster', () => {
    const settings = defaultSettings()
    const store = new SnapshotStore()
    const ref = { group: 'inference.networking.k8s.io', kind: 'InferencePool', name: 'llama' }
    const pool = {
      selector: { matchLabels: { app: 'llama' } },
      targetPorts: [{ number: 8000 }],
      endpointPickerRef: { name: 'picker', port: { number: 9003 } },
    }
    for (const one of [
      object('GatewayClass', 'portcullis', { controllerName: CONTROLLER }),
      gateway(),
      object('HTTPRoute', 'a', {
        parentRefs: [{ name: 'edge' }],
        rules: [{ backendRefs: [ref] }],
      }),
      object('InferencePool', 'llama', pool, 'inference.networking.k8s.io/v1'),
    ]) {
      store.put(one.kind, one)
    }
    const pickerOf = (assumesMissing: boolean) => {
      const translator = new Translator({ controllerName: CONTROLLER, settings, assumesMissing })
      const { models } = translator.translate(store.take())
      const found = models
        .get('apps/edge')
        ?.backends.find(({ name }) => name === 'EndpointPicker/apps/llama')
      return found?.kind === 'host' ? found.endpoints : found?.kind
    }
    assert.deepEqual(pickerOf(true), [{ host: 'picker.apps.svc.cluster.local', port: 9003 }])
    assert.equal(pickerOf(false), 'invalid')
  })
})

describe('a translation that fails', () => {
  it('loses nothing in the next one', () => {
    const put = started()
    const route = (name: string): KubeObject =>
      object('HTTPRoute', name, { parentRefs: [{ name: 'edge' }], rules: [{ backendRefs: [] }] })
    put(gateway(), route('a'))
    let isBroken = true
    const broken = new Proxy(route('b'), {
      get: (target, key) => {
        if (isBroken && key === 'spec') throw new Error('broken')
        return target[key as string]
      },
    })
    assert.throws(() => put(broken, route('c'), route('d')), /broken/)
    isBroken = false
    const { models } = put(route('e'))
    const names = models.get('apps/edge')?.routes.map(({ name }) => name.at(-1))
    assert.deepEqual(names, ['a', 'b', 'c', 'd', 'e'])
  })
})

describe('an edit', () => {
  it('updates the status of its object only, and keeps every other part of the Model', () => {
    const put = started()
    const route = (n: number, path: string) =>
      object('HTTPRoute', `r${n}`, {
        parentRefs: [{ name: 'edge' }],
        rules: [{ matches: [{ path: { type: 'PathPrefix', value: path } }], backendRefs: [] }],
      })
    const before = put(gateway(), ...Array.from({ length: 500 }, (_, n) => route(n, `/r${n}`)))
    const after = put(route(250, '/other'))
    assert.deepEqual(
      after.touched.map(({ kind, name }) => `${kind} ${name}`),
      ['HTTPRoute r250'],
    )
    const [old, young] = [before, after].map(({ models }) => models.get('apps/edge')?.routes ?? [])
    const changed = young?.filter((one, index) => one !== old?.[index])
    assert.deepEqual(
      changed?.map(({ name }) => name),
      ['HTTPRoute/apps/r250'],
    )
  })
})
