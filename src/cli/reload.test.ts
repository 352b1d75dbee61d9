import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import type { Applied } from '../proxy/gateway.ts'
import { FileSource } from '../sources/file/file-source.ts'
import { type Loaded, loadText } from '../sources/file/load.ts'
import { followSource } from './reload.ts'

/** Records events as strings; loads and applications finish when the test resolves them. */
function watched() {
  const happened: string[] = []
  const loads: {
    readonly resolve: (loaded: Loaded) => void
    readonly reject: (error: Error) => void
  }[] = []
  const codes = (all: readonly Diagnostic[]) => all.map(({ code }) => code).join()
  const applied: Applied & { error?: Error } = { isApplied: true, diagnostics: [] }
  const source = new FileSource({
    main: { path: 'gateway.yaml', stamp: '' },
    files: [],
    openWatch: () => ({
      follow: (files) => happened.push(`follow ${files.length - 1}`),
      close: () => happened.push('close'),
    }),
    load: () => {
      happened.push('load')
      return new Promise((resolve, reject) => loads.push({ resolve, reject }))
    },
  })
  const options = {
    apply: async (model: Model) => {
      happened.push(`apply ${model.routes.map(({ name }) => name).join()}`)
      if (applied.error !== undefined) throw applied.error
      return applied
    },
    applied: () => void happened.push('applied'),
    rejected: (diagnostics: readonly Diagnostic[]) =>
      void happened.push(`rejected ${codes(diagnostics)}`),
    broke: (error: unknown) => void happened.push(`broke ${(error as Error).message}`),
    unreported: () => assert.fail(),
  }
  const stopping = new AbortController()
  const over = followSource(source, options, stopping.signal)
  // The initial set of files is not an event.
  happened.length = 0
  return { happened, loads, source, applied, stopping, over }
}

const configuration = (route: string): Loaded =>
  loadText(
    `gateways: { default: { port: 80 } }\nroutes: [{ name: ${route}, backends: [{ host: a:1 }] }]`,
    'gateway.yaml',
    { environment: {} },
  )

describe('reloading', () => {
  it('applies a valid configuration', async () => {
    const { happened, loads, source } = watched()
    source.refresh()
    await turn()
    loads[0]?.resolve(configuration('a'))
    await turn()
    assert.deepEqual(happened, ['load', 'follow 0', 'apply a', 'applied'])
  })

  it('applies nothing that finishes loading after the stop', async () => {
    const { happened, loads, source, stopping, over } = watched()
    source.refresh()
    await turn()
    stopping.abort()
    loads[0]?.resolve(configuration('a'))
    await over
    assert.deepEqual(happened, ['load', 'follow 0', 'close'])
  })

  it('reloads once after the current load for all changes meanwhile', async () => {
    const { happened, loads, source } = watched()
    source.refresh()
    await turn()
    source.refresh()
    source.refresh()
    await turn()
    assert.deepEqual(happened, ['load'])
    loads[0]?.resolve(configuration('a'))
    await turn()
    loads[1]?.resolve(configuration('b'))
    await turn()
    assert.deepEqual(
      happened.filter((what) => !what.startsWith('follow')),
      ['load', 'apply a', 'applied', 'load', 'apply b', 'applied'],
    )
    assert.equal(loads.length, 2)
  })

  it('keeps the configuration if the file is invalid', async () => {
    const { happened, loads, source } = watched()
    source.refresh()
    await turn()
    loads[0]?.resolve(configuration('[]'))
    await turn()
    assert.deepEqual(happened, ['load', 'follow 0', 'rejected PC0212'])
  })

  for (const [what, text] of [
    ['an empty file', ''],
    ['comments alone', '# in a moment\n'],
  ] as const) {
    it(`${what} changes nothing: it may be half written`, async () => {
      const { happened, loads, source } = watched()
      source.refresh()
      await turn()
      loads[0]?.resolve(loadText(text, 'gateway.yaml', { environment: {} }))
      await turn()
      assert.deepEqual(happened, ['load', 'follow 0', 'rejected PC0223'])
    })
  }

  it('applies a configuration with an explicitly empty list of gateways', async () => {
    const { happened, loads, source } = watched()
    source.refresh()
    await turn()
    loads[0]?.resolve(loadText('gateways: {}', 'gateway.yaml', { environment: {} }))
    await turn()
    assert.deepEqual(happened, ['load', 'follow 0', 'apply ', 'applied'])
  })

  it('rejects what cannot be applied', async () => {
    const { happened, loads, source, applied } = watched()
    Object.assign(applied, { isApplied: false })
    source.refresh()
    await turn()
    loads[0]?.resolve(configuration('a'))
    await turn()
    assert.deepEqual(happened.slice(2), ['apply a', 'rejected '])
  })

  it('reports a failed load with its code, and reads the next change as usual', async () => {
    const { happened, loads, source } = watched()
    source.refresh()
    await turn()
    loads[0]?.reject(new Error('out of memory'))
    await turn()
    source.refresh()
    await turn()
    loads[1]?.resolve(configuration('b'))
    await turn()
    assert.deepEqual(happened, [
      'load',
      'rejected PC0404',
      'load',
      'follow 0',
      'apply b',
      'applied',
    ])
  })

  it('an error while a change is applied affects only that change', async () => {
    const { happened, loads, source, applied } = watched()
    applied.error = new Error('a fault')
    source.refresh()
    await turn()
    loads[0]?.resolve(configuration('a'))
    await turn()
    delete applied.error
    source.refresh()
    await turn()
    loads[1]?.resolve(configuration('b'))
    await turn()
    const reported = happened.filter((what) => !/follow|load/.test(what))
    assert.deepEqual(reported, ['apply a', 'broke a fault', 'apply b', 'applied'])
  })

  it('ends when it is stopped, and no longer watches', async () => {
    const { happened, source, stopping, over } = watched()
    stopping.abort()
    await over
    source.refresh()
    await turn()
    assert.deepEqual(happened, ['close'])
  })
})
