import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { POLICY_SCHEMAS } from '../src/policies/schema.ts'
import { accessOf } from '../src/protocols/llm/provider.ts'
import {
  PROVIDERS,
  REJECTED_OF_PROVIDERS,
  WAITING_OF_PROVIDERS,
} from '../src/protocols/llm/schema.ts'
import { defaultSettings } from '../src/sources/file/sections/config.ts'
import { SETTINGS_THAT_WAIT } from '../src/sources/file/sections/unserved-settings.ts'

const ROOT = join(import.meta.dirname, '..')
const SCHEMA = JSON.parse(readFileSync(join(ROOT, 'docs/reference/config.schema.json'), 'utf8'))

/**
 * Settings of features that do not exist yet; using one is reported, or requests to the parts it
 * guards get a 500.
 */
const WAITING: readonly string[] = [
  ...SETTINGS_THAT_WAIT.map((path) => `config.${path.join('.')}`),
  'config.storage',
]

/** Runtime code: everything except schemas, configuration readers and diagnostics. */
const RUNNING = globSync('src/**/*.ts', { cwd: ROOT }).filter(
  (file) =>
    !/\.test\.ts$|\/fixtures\/|schema\.ts$/.test(file) &&
    !/^src\/(?:sources|diagnostics|analysis|model)\//.test(file),
)
const READ = new Set(RUNNING.flatMap((file) => wordsOf(readFileSync(join(ROOT, file), 'utf8'))))
/** Keys that a schema itself transforms: it names them more than once. */
const TRANSFORMED = new Set(
  globSync('src/policies/*/schema.ts', { cwd: ROOT }).flatMap((file) => {
    const words = wordsOf(readFileSync(join(ROOT, file), 'utf8'))
    return words.filter((word, at) => words.indexOf(word) !== at)
  }),
)

/*
 * A name that is used anywhere counts as read. So this test finds a forgotten key, but not a key
 * that is read and then ignored: the tests of each policy cover that.
 */
describe('every setting is read by something', () => {
  for (const { kind } of POLICY_SCHEMAS) {
    it(kind, () => {
      const unread = [...keysOf(SCHEMA.$defs[kind])].filter(
        (key) => !READ.has(key) && !TRANSFORMED.has(key),
      )
      assert.deepEqual(unread, [], 'nothing reads these: do what they say, or refuse them')
    })
  }

  it('config', () => {
    const unread = pathsOf(defaultSettings(), 'config').filter(
      (path) => !isWaiting(path) && !READ.has(path.slice(path.lastIndexOf('.') + 1)),
    )
    assert.deepEqual(unread, [])
  })

  for (const { name, options, host } of PROVIDERS) {
    it(`the provider ${name}`, () => {
      const known = new Set<PropertyKey>([...REJECTED_OF_PROVIDERS, ...WAITING_OF_PROVIDERS])
      // The host and the path are computed from these options, whatever they are.
      const read = new Proxy({}, { get: (_, key) => void known.add(key) })
      host(read)
      const access = accessOf(name)
      access.telemetryName(read)
      access.dialects(read)
      access.path('/chat', { dialect: 'completions', model: 'm', options: read })
      // For every provider, this is the model that the gateway calls.
      known.add('model')
      const keys = Object.keys(options.unwrap().shape)
      assert.deepEqual(
        keys.filter((key) => !known.has(key)),
        [],
      )
    })
  }

  it('finds unread settings', () => {
    const planted = { properties: { attempts: {}, neverRead: { properties: { norThis: {} } } } }
    assert.deepEqual(
      [...keysOf(planted)].filter((key) => !READ.has(key)),
      ['neverRead', 'norThis'],
    )
    assert.deepEqual(wordsOf("// no\nconst a = { b: 'no' } /* no */"), ['const', 'a', 'b'])
  })
})

interface JsonSchema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly [other: string]: unknown
}

/** All keys of the nested mappings except aliases; named definitions are not followed. */
function* keysOf(schema: JsonSchema): Generator<string> {
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    if (inner.description?.startsWith('An alias of') !== true) yield key
    yield* keysOf(inner)
  }
  for (const [word, inner] of Object.entries(schema)) {
    if (word === 'properties') continue
    for (const one of Array.isArray(inner) ? inner : [inner]) {
      if (typeof one === 'object' && one !== null) yield* keysOf(one as JsonSchema)
    }
  }
}

function pathsOf(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path]
  return Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, `${path}.${key}`))
}

function isWaiting(path: string): boolean {
  return WAITING.some((waiting) => path === waiting || path.startsWith(`${waiting}.`))
}

/** The identifiers in code, without comments and strings. */
function wordsOf(code: string): string[] {
  const bare = code
    .replaceAll(/\/\*.*?\*\//gs, ' ')
    .replaceAll(/\/\/[^\n]*/g, ' ')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, ' ')
  return bare.match(/[A-Za-z_$][\w$]*/g) ?? []
}
