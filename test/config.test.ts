import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { FILE_CODES } from '../src/diagnostics/codes/file.ts'
import { REFERENCE_CODES } from '../src/diagnostics/codes/references.ts'
import { hashOf } from '../src/model/hash.ts'
import { loadText } from '../src/sources/file/load.ts'
import { CASES, configCases } from '../tools/config-cases.ts'

const ROOT = join(import.meta.dirname, '..')
const outputs = configCases.generate(ROOT)

describe('test/config', () => {
  for (const [path, text] of outputs) {
    it(`${path} is what its file means`, () => {
      assert.equal(readFileSync(join(ROOT, path), 'utf8'), text, 'run `npm run golden` and look')
    })
  }

  it('has no output without an input', () => {
    const kept = globSync(`${CASES}/*.{model.json,diagnostics.txt}`, { cwd: ROOT })
    assert.deepEqual(
      kept.filter((path) => !outputs.has(path.replaceAll('\\', '/'))),
      [],
    )
  })

  it('shows every message about files at least once', () => {
    const said = [...outputs].filter(([path]) => path.endsWith('.txt')).map(([, text]) => text)
    const isShown = (code: string) => said.some((text) => text.includes(`[${code}]`))
    const codes = [...FILE_CODES.codes, ...REFERENCE_CODES.codes].map(({ code }) => code)
    // Missing files and files written for other gateways have no case here, and `check` alone
    // looks for what is around a file (src/cli/check-file.test.ts).
    assert.deepEqual(
      codes.filter((code) => !isShown(code)),
      ['PC0201', 'PC0224', 'PC0323', 'PC0324', 'PC0325', 'PC0326', 'PC0327'],
    )
  })
})

describe('the Model of a file', () => {
  const text = readFileSync(join(ROOT, CASES, 'traffic-policies.in.yaml'), 'utf8')
  const model = () => loadText(text, 'gateway.yaml', { environment: {} }).result.value

  it('is the same bytes each time', () => assert.equal(hashOf(model()), hashOf(model())))

  it('is frozen plain data', () => {
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) {
        assert.ok(['string', 'number', 'boolean'].includes(typeof value) || value === null, path)
        return
      }
      assert.ok(Object.isFrozen(value), path)
      assert.ok(Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype, path)
      for (const [key, member] of Object.entries(value)) visit(member, `${path}.${key}`)
    }
    for (const path of globSync(`${CASES}/*.in.yaml`, { cwd: ROOT })) {
      const file = join(ROOT, path)
      const loaded = loadText(readFileSync(file, 'utf8'), file, { environment: {} })
      if (loaded.result.value !== undefined) visit(loaded.result.value, path)
    }
  })
})
