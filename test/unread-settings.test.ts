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

/** Of parts that are still to come; whoever uses one is told, or what it guards responds with 500. */
const WAITING: readonly string[] = [
  ...SETTINGS_THAT_WAIT.map((path) => `config.${path.join('.')}`),
  'config.storage',
]

/** What runs: all but schemas, the readers of files, and what is said about them. */
const RUNNING = globSync('src/**/*.ts', { cwd: ROOT }).filter(
  (file) =>
    !/\.test\.ts$|\/fixtures\/|schema\.ts$/.test(file) &&
    !/^src\/(?:sources|diagnostics|analysis|model)\//.test(file),
)
const READ = new Set(RUNNING.flatMap((file) => wordsOf(readFileSync(join(ROOT, file), 'utf8'))))
/** Keys that a schema itself makes something else of: it names them more than once. */
const TRANSFORMED = new Set(
  globSync('src/policies/*/schema.ts', { cwd: ROOT }).flatMap((file) => {
    const words = wordsOf(readFileSync(join(ROOT, file), 'utf8'))
    return words.filter((word, at) => words.indexOf(word) !== at)
  }),
)

/*
 * A name that is used anywhere counts as read, so that this finds a key that was forgotten, and
 * not one that is read and then not obeyed: that is for the tests of each policy.
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
      // Its host is found by these, and the way to it, whatever they are.
      const read = new Proxy({}, { get: (_, key) => void known.add(key) })
      host(read)
      const access = accessOf(name)
      access.telemetryName(read)
      access.dialects(read)
      access.path('/chat', { dialect: 'completions', model: 'm', options: read })
      // Whatever the provider, the one that is called is this one.
      known.add('model')
      const keys = Object.keys(options.unwrap().shape)
      assert.deepEqual(
        keys.filter((key) => !known.has(key)),
        [],
      )
    })
  }

  it('finds what is not', () => {
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

/** All keys of the mappings within, but for other spellings; what has a name of its own is not entered. */
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

/** Names in code: neither in comments nor in texts. */
function wordsOf(code: string): string[] {
  const bare = code
    .replaceAll(/\/\*.*?\*\//gs, ' ')
    .replaceAll(/\/\/[^\n]*/g, ' ')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, ' ')
  return bare.match(/[A-Za-z_$][\w$]*/g) ?? []
}
