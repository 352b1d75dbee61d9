import type { Exception } from './rule.ts'

/** All schemas of policies and protocols, and nothing else of these folders. */
export const SCHEMAS = 'schemas of policies and protocols'
export const EXPLAIN = 'program (explain only)'
export const EDITING = 'sources (editing only)'

/** The files that the special entries match. */
export const SPECIAL: Readonly<Record<string, RegExp>> = {
  [SCHEMAS]: /^src\/(policies|protocols)\/(.+\/)?schema\.ts$/,
  [EXPLAIN]: /^src\/program\/explain\.ts$/,
  [EDITING]: /^src\/sources\/file\/editing\.ts$/,
}

export interface ImportRow {
  readonly folders: readonly string[]
  readonly mayImport: readonly string[] | 'all'
}

/** Allowed imports between the folders of src, and `ui`; ARCHITECTURE.md shows the same table. */
export const IMPORT_TABLE: readonly ImportRow[] = [
  { folders: ['diagnostics', 'protobuf'], mayImport: [] },
  { folders: ['telemetry'], mayImport: ['protobuf'] },
  { folders: ['oidc'], mayImport: [] },
  { folders: ['cel', 'model'], mayImport: ['diagnostics'] },
  { folders: ['exchange'], mayImport: ['cel', 'model', 'telemetry'] },
  { folders: ['wire'], mayImport: ['exchange', 'telemetry'] },
  { folders: ['upstream'], mayImport: ['wire', 'exchange', 'model', 'telemetry'] },
  {
    folders: ['policies', 'protocols'],
    mayImport: ['exchange', 'model', 'cel', 'protobuf', 'diagnostics'],
  },
  { folders: ['reach'], mayImport: [SCHEMAS, 'model', 'diagnostics'] },
  {
    folders: ['program'],
    mayImport: [
      'reach',
      'policies',
      'protocols',
      'upstream',
      'exchange',
      'model',
      'cel',
      'diagnostics',
    ],
  },
  { folders: ['xds'], mayImport: ['model', 'protobuf', 'diagnostics'] },
  { folders: ['sources'], mayImport: ['xds', 'reach', SCHEMAS, 'model', 'diagnostics'] },
  { folders: ['analysis'], mayImport: ['reach', SCHEMAS, 'cel', 'model', 'diagnostics'] },
  {
    folders: ['proxy'],
    mayImport: ['program', 'wire', 'upstream', 'exchange', 'model', 'telemetry'],
  },
  {
    folders: ['admin'],
    mayImport: ['sources', 'reach', EXPLAIN, 'model', 'telemetry', 'diagnostics'],
  },
  {
    folders: ['controller'],
    mayImport: ['xds', 'reach', SCHEMAS, 'analysis', 'cel', 'model', 'diagnostics', 'telemetry'],
  },
  { folders: ['cli'], mayImport: 'all' },
  {
    folders: ['ui'],
    mayImport: [EDITING, 'analysis', 'reach', SCHEMAS, 'cel', 'model', 'diagnostics'],
  },
]

/** Folders of equals, which meet in Exchange and never import each other. */
export const SIBLINGS: readonly string[] = ['src/policies']

/**
 * These also run in the browser: the UI checks expressions with the proxy's own checker, and the
 * playground of the documentation evaluates them.
 */
export const BROWSER_SAFE =
  /^src\/(cel|model|diagnostics|reach|analysis)\/|^src\/.+\/schema\.ts$|^ui\/|^src\/sources\/file\/editing\.ts$|^src\/exchange\/(attributes|plain-headers)\.ts$/

/** The only file that turns text into code. */
export const CODE_GENERATOR = 'src/cel/emit/generate.ts'

/** The only file that admits connections, requests and messages. */
export const PERMIT_MAKER = 'src/program/permit.ts'

export const MAX_FILE = 400

/** Folders whose files the rules check. */
export const ROOTS: readonly string[] = ['src', 'bin', 'ui/src', 'tools', 'bench', 'test']

/** Names that do not describe the content. */
export const EMPTY_NAMES: readonly string[] = [
  'util',
  'utils',
  'helper',
  'helpers',
  'common',
  'core',
  'lib',
  'misc',
  'types',
]

/** Code of protobuf messages: the owners of the protocols name folders and files. */
export const NAMED_BY_OTHERS = /^src\/protobuf\/generated\//

/** Exceptions to the rules, with their reasons. */
export const EXCEPTIONS = {
  length: [
    { path: 'ui/src/api/generated/shapes.ts', reason: 'made from the OpenAPI document' },
    {
      path: 'src/protobuf/generated/envoy/service/ext_proc/v3/external_processor_pb.ts',
      reason: 'made from the definition of the protocol',
    },
  ],
  code: [
    { path: 'tools/bundle/script.ts', reason: 'runs the text of a release, which is our own' },
    { path: 'test/collect-garbage.ts', reason: 'V8 hands out `gc` to new contexts alone' },
  ],
  v8Flags: [{ path: 'bench/run.ts', reason: 'keeps the compiler of a bench in its own thread' }],
  http2: [
    {
      path: 'src/xds/server.ts',
      reason:
        'Connect, which delivery to proxies is made of, stands on it; no request passes there',
    },
  ],
  name: [
    { path: 'src/cel/check/types.ts', reason: 'the static types of CEL: a word of the language' },
    {
      path: 'test/gateway-conformance/suite/suite_test.go',
      reason: 'Go tells tests by such names',
    },
  ],
  defaultExport: [
    { path: 'tools/test-reporter.ts', reason: 'node:test takes a reporter by its default export' },
  ],
} as const satisfies Readonly<Record<string, readonly Exception[]>>
