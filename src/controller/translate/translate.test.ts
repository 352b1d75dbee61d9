import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { stringify } from 'yaml'
import { withRuleOrigins } from '../../../tools/rule-origins.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { redact } from '../../model/redact.ts'
import { defaultSettings } from '../../sources/file/sections/config.ts'
import { snapshotOf } from '../cluster/snapshot.ts'
import { readManifests, withClasses } from '../manifests.ts'
import type { Condition } from './conditions.ts'
import { SUPPORTED_FEATURES } from './supported-features.ts'
import { translate } from './translate.ts'

const FOLDER = join(import.meta.dirname, 'cases')
const CONTROLLER = 'portcullis.dev/controller'

/**
 * Each case consists of manifests, next to the result of their translation. After a change, run
 * UPDATE_CASES=1 node --test src/controller/translate/translate.test.ts, and review the difference.
 */
describe('translation of manifests', () => {
  const files = globSync('*.yaml', { cwd: FOLDER }).filter((name) => !name.endsWith('.out.yaml'))
  assert.ok(files.length > 0)
  for (const file of files.sort()) {
    it(basename(file, '.yaml').replaceAll('-', ' '), () => {
      const output = join(FOLDER, file.replace('.yaml', '.out.yaml'))
      const made = outcomeOf(readFileSync(join(FOLDER, file), 'utf8'))
      if (process.env['UPDATE_CASES'] !== undefined) writeFileSync(output, made)
      assert.equal(made, readFileSync(output, 'utf8'))
    })
  }

  it('classes list the features that pass the Gateway API conformance suite', () => {
    const text = readFileSync(join(FOLDER, 'listeners.yaml'), 'utf8')
    const { objects } = readManifests([{ file: 'case.yaml', text }])
    const options = { controllerName: CONTROLLER, settings: defaultSettings() }
    const { statuses } = translate(snapshotOf(withClasses(objects, CONTROLLER)), options)
    const found = statuses.find(({ kind }) => kind === 'GatewayClass')
    const names = found?.supportedFeatures?.map(({ name }) => name)
    assert.deepEqual(names, SUPPORTED_FEATURES)
    assert.deepEqual(names, [...(names ?? [])].sort())
  })
})

function outcomeOf(text: string): string {
  const read = readManifests([{ file: 'case.yaml', text }])
  assert.deepEqual(read.diagnostics, [])
  const objects = withClasses(read.objects, CONTROLLER)
  const options = { controllerName: CONTROLLER, settings: defaultSettings() }
  const { models, statuses, diagnostics } = translate(snapshotOf(objects), options)
  const outcome = {
    models: withRuleOrigins(Object.fromEntries(models)),
    statuses: Object.fromEntries(
      statuses.map(({ kind, namespace, name, ...rest }) => [`${kind} ${namespace}/${name}`, rest]),
    ),
    diagnostics: diagnostics.map(({ code, severity, message, origin, hint }) => {
      return `${severity} ${code} ${placeOf(origin)}: ${message}${hint === undefined ? '' : ` (${hint})`}`
    }),
  }
  const plain = redact(JSON.parse(JSON.stringify(outcome, brief)))
  return stringify(plain, { aliasDuplicateObjects: false, lineWidth: 0 })
}

function placeOf(origin: Diagnostic['origin']): string {
  return origin.kind === 'object' ? `${origin.object} ${origin.field}` : origin.file
}

/** Origins and conditions on one line each; empty values are omitted. */
function brief(key: string, value: unknown): unknown {
  // The features have their own file and are the same everywhere.
  if (key === 'supportedFeatures') return undefined
  if (key === 'origin') return placeOf(value as Diagnostic['origin'])
  if (key === 'diagnostics' && Array.isArray(value) && typeof value[0] !== 'string') {
    return (value as readonly Diagnostic[]).map(({ code, message }) => `${code} ${message}`)
  }
  if (key === 'conditions') {
    return (value as readonly Condition[]).map(
      ({ type, status, reason, message }) =>
        `${type}=${status} ${reason}${message === '' ? '' : `: ${message}`}`,
    )
  }
  return Array.isArray(value) && value.length === 0 ? undefined : value
}
