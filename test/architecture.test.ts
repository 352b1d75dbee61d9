import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  exportsByName,
  generatesCodeInOnePlace,
  hasTellingNames,
  makesPermitsInOnePlace,
  runsInBrowsers,
  staysShort,
} from './architecture/content-rules.ts'
import {
  followsImportTable,
  hasNoCycles,
  hasNoTwoWayPairs,
  keepsSiblingsApart,
} from './architecture/import-rules.ts'
import { keepsKnotsSmall } from './architecture/knots.ts'
import { readSources } from './architecture/read-sources.ts'
import { type Exception, except, type Rule, renderViolation } from './architecture/rule.ts'
import { EXCEPTIONS, IMPORT_TABLE } from './architecture/table.ts'

/** Files planted in memory, and the violations that the rule must report for them. */
type Planted = readonly [name: string, files: Record<string, string>, said: readonly string[]]

type Row = readonly [name: string, Rule, readonly Planted[], exceptions?: readonly Exception[]]

const RULES: readonly Row[] = [
  [
    'folders of src import only what the table allows',
    followsImportTable,
    [
      [
        'an arrow that goes up',
        { 'src/cel/a.ts': "\nimport { b } from '../model/b.ts'" },
        ['src/cel/a.ts:2: imports src/model/b.ts, but cel may import diagnostics'],
      ],
      [
        'a type is an arrow too',
        { 'src/diagnostics/a.ts': "import type { B } from '../cel/b.ts'" },
        [
          'src/diagnostics/a.ts:1: imports src/cel/b.ts, but diagnostics may import nothing outside itself',
        ],
      ],
      [
        'what is exported on is imported first, also later',
        {
          'src/wire/a.ts': "export { b } from '../model/b.ts'",
          'src/wire/c.ts': "const c = () => import('../model/b.ts')",
        },
        [
          'src/wire/a.ts:1: imports src/model/b.ts, but wire may import exchange, telemetry',
          'src/wire/c.ts:1: imports src/model/b.ts, but wire may import exchange, telemetry',
        ],
      ],
      [
        'schemas are open to sources, compilers are not',
        {
          'src/sources/a.ts':
            "import { s } from '../policies/cors/schema.ts'\nimport { c } from '../policies/cors/compile.ts'",
        },
        [
          'src/sources/a.ts:2: imports src/policies/cors/compile.ts, but sources may import xds, reach, schemas of policies and protocols, model, diagnostics',
        ],
      ],
      [
        'of program, admin sees explain only',
        {
          'src/admin/a.ts':
            "import { e } from '../program/explain.ts'\nimport { l } from '../program/link.ts'",
        },
        [
          'src/admin/a.ts:2: imports src/program/link.ts, but admin may import sources, reach, program (explain only), model, telemetry, diagnostics',
        ],
      ],
      [
        'product code does not lean on tests and tools',
        { 'src/cel/a.ts': "import { t } from '../../test/t.ts'" },
        ['src/cel/a.ts:1: imports test/t.ts, but cel may import diagnostics'],
      ],
      [
        'the UI sees what runs in browsers, and nothing sees the UI',
        {
          'ui/src/a.tsx':
            "import { b } from './b.ts'\nimport { c } from '../../src/cel/index.ts'\nimport { p } from '../../src/proxy/p.ts'",
          'src/cel/c.ts': "import { b } from '../../ui/src/b.ts'",
        },
        [
          'ui/src/a.tsx:3: imports src/proxy/p.ts, but ui may import sources (editing only), analysis, reach, schemas of policies and protocols, cel, model, diagnostics',
          'src/cel/c.ts:1: imports ui/src/b.ts, but cel may import diagnostics',
        ],
      ],
      [
        'a folder that the table does not know',
        { 'src/magic/a.ts': "import { b } from './b.ts'" },
        ['src/magic/a.ts:1: src/magic has no row in test/architecture/table.ts'],
      ],
      [
        'tests, cli, own folder and packages are free',
        {
          'src/cel/a.test.ts': "import { p } from '../proxy/p.ts'",
          'src/cli/a.ts': "import { p } from '../proxy/p.ts'",
          'src/cel/b.ts': "import { c } from './c.ts'\nimport { z } from 'zod'",
        },
        [],
      ],
      [
        'comments and strings are not imports',
        {
          'src/cel/a.ts':
            "// import { p } from '../proxy/p.ts'\nconst a = `import '../proxy/p.ts'` // \"\nexport const b = '../proxy/p.ts'",
        },
        [],
      ],
    ],
  ],
  [
    'no two folders import each other',
    hasNoTwoWayPairs,
    [
      [
        'a pair',
        {
          'src/cel/a.ts': "import { b } from '../model/b.ts'",
          'src/model/c.ts': "import type { D } from '../cel/d.ts'",
        },
        [
          'src/cel/a.ts:1: imports src/model/b.ts, while src/model/c.ts:1 imports src/cel/d.ts: cel ⇄ model',
        ],
      ],
    ],
  ],
  [
    'policies do not import each other',
    keepsSiblingsApart,
    [
      [
        'one that does',
        {
          'src/policies/cors/compile.ts': "import { j } from '../jwt/index.ts'",
          'src/policies/cors/index.ts': "import { d } from '../define.ts'",
          'src/policies/index.ts': "import { cors } from './cors/index.ts'",
        },
        [
          'src/policies/cors/compile.ts:1: imports src/policies/jwt/index.ts, but cors and jwt are equals that never meet',
        ],
      ],
    ],
  ],
  [
    'no file reaches itself by imports',
    hasNoCycles,
    [
      [
        'three in a ring',
        {
          'src/cel/a.ts': "import { b } from './b.ts'",
          'src/cel/b.ts': "import { c } from './c.ts'",
          'src/cel/c.ts': "import { a } from './a.ts'",
        },
        [
          'src/cel/c.ts:1: closes a cycle: src/cel/a.ts → src/cel/b.ts → src/cel/c.ts → src/cel/a.ts',
        ],
      ],
      [
        'a ring of types is none at run time, a ring of one is',
        {
          'src/cel/a.ts': "import type { B } from './b.ts'",
          'src/cel/b.ts': "import { a } from './a.ts'",
          'src/cel/c.test.ts': "import { c } from './c.test.ts'",
        },
        ['src/cel/c.test.ts:1: closes a cycle: src/cel/c.test.ts → src/cel/c.test.ts'],
      ],
    ],
  ],
  [
    'files that can be read only together are few',
    keepsKnotsSmall,
    [
      [
        'four that need the types of each other',
        {
          'src/cel/a.ts': "import type { B } from './b.ts'\nimport type { D } from './d.ts'",
          'src/cel/b.ts': "import type { C } from './c.ts'",
          'src/cel/c.ts': "import type { A } from './a.ts'",
          'src/cel/d.ts': "import type { A } from './a.ts'",
        },
        [
          'src/cel/a.ts:1: is tied up with src/cel/b.ts, src/cel/c.ts, src/cel/d.ts: more than 3 files',
        ],
      ],
      [
        'three may, and a fourth may use them',
        {
          'src/cel/a.ts': "import type { B } from './b.ts'",
          'src/cel/b.ts': "import type { C } from './c.ts'",
          'src/cel/c.ts': "import type { A } from './a.ts'",
          'src/cel/d.ts': "import type { A } from './a.ts'",
        },
        [],
      ],
    ],
  ],
  [
    'browser-safe files need nothing of Node',
    runsInBrowsers,
    [
      [
        'a module and globals',
        {
          'src/cel/a.ts':
            "import { readFileSync } from 'node:fs'\nimport path from 'path'\nconst a = process.env.A\nconst b = Buffer.from('b')",
        },
        [
          'src/cel/a.ts:1: imports node:fs, but must run in the browser too',
          'src/cel/a.ts:2: imports path, but must run in the browser too',
          'src/cel/a.ts:3: uses process, but must run in the browser too',
          'src/cel/a.ts:4: uses Buffer, but must run in the browser too',
        ],
      ],
      [
        'what a schema loads must be safe as well',
        {
          'src/policies/cors/schema.ts':
            "import { e } from '../../exchange/e.ts'\nimport type { W } from '../../wire/w.ts'",
          'src/exchange/e.ts': "import { n } from 'node:net'",
          'src/wire/w.ts': "import { n } from 'node:net'",
        },
        [
          'src/exchange/e.ts:1: imports node:net, but must run in the browser too (loaded by src/policies/cors/schema.ts)',
        ],
      ],
      [
        'tests, words in text, and properties of that name',
        {
          'src/cel/a.test.ts': "import { f } from 'node:fs'",
          'src/cel/b.ts': "// process.exit()\nconst b = 'process.env' + it.process.x",
          'src/proxy/c.ts': "import { n } from 'node:net'",
        },
        [],
      ],
    ],
  ],
  [
    'no file is longer than 400 lines',
    staysShort,
    [
      ['just short enough', { 'src/cel/a.ts': 'a\n'.repeat(400) }, []],
      [
        'one line more',
        { 'bench/a.ts': 'a\n'.repeat(401) },
        ['bench/a.ts:401: has 401 lines, more than 400: split it by what it speaks of'],
      ],
    ],
    EXCEPTIONS.length,
  ],
  [
    'text becomes code in one file only',
    generatesCodeInOnePlace,
    [
      [
        'elsewhere',
        {
          'src/cel/emit/generate.ts': "new Function('return 1')",
          'src/cel/a.ts': "const f = new Function('return 1')",
          'tools/b.ts': "eval('1')\nFunction('1')()",
          'test/c.ts': "import { runInThisContext } from 'node:vm'",
          'src/cel/d.ts': "// eval(\nconst d = 'eval(' + retrieval(evaluate()) + x.eval(1)",
        },
        [
          'src/cel/a.ts:1: new Function makes code of text: only src/cel/emit/generate.ts may',
          'tools/b.ts:1: eval( makes code of text: only src/cel/emit/generate.ts may',
          'tools/b.ts:2: Function( makes code of text: only src/cel/emit/generate.ts may',
          'test/c.ts:1: node:vm makes code of text: only src/cel/emit/generate.ts may',
        ],
      ],
    ],
    EXCEPTIONS.code,
  ],
  [
    'permits are made where it is decided',
    makesPermitsInOnePlace,
    [
      [
        'made, or said to be one',
        {
          'src/program/permit.ts': "new Permit('backend')",
          'src/proxy/a.ts': "const a = new Permit('backend')\nconst b = {} as Permit<'backend'>",
          'src/proxy/c.ts': 'class C extends Permit {}\nconst c = x as ForwardPermit',
          'src/proxy/d.ts': 'function when<P extends Permit | undefined>(p: P) {}',
        },
        [
          'src/proxy/a.ts:1: new Permit makes a permit: only src/program/permit.ts may',
          'src/proxy/a.ts:2: as Permit makes a permit: only src/program/permit.ts may',
          'src/proxy/c.ts:1: extends Permit makes a permit: only src/program/permit.ts may',
          'src/proxy/c.ts:2: as ForwardPermit makes a permit: only src/program/permit.ts may',
        ],
      ],
    ],
  ],
  [
    'names say what is inside',
    hasTellingNames,
    [
      [
        'folders, files and camels',
        {
          'src/utils/date.ts': '',
          'src/cel/helpers.test.ts': '',
          'src/cel/commonSense.ts': '',
          'src/cel/common-sense.ts': '',
          'src/protobuf/generated/envoy/config/core/v3/base_pb.ts': '',
          'src/protobuf/core/base_pb.ts': '',
        },
        [
          'src/utils/date.ts:1: "utils" does not say what is inside: name the thing',
          'src/cel/helpers.test.ts:1: "helpers" does not say what is inside: name the thing',
          'src/cel/commonSense.ts:1: "commonSense.ts" is not kebab-case',
          'src/protobuf/core/base_pb.ts:1: "core" does not say what is inside: name the thing',
        ],
      ],
    ],
    EXCEPTIONS.name,
  ],
  [
    'exports have names',
    exportsByName,
    [
      [
        'two ways to do without',
        {
          'src/cel/a.ts': 'export default function a() {}',
          'src/cel/b.ts': 'const b = 1\nexport { b as default }',
          'src/cel/c.ts': "const c = 'export default'",
        },
        [
          'src/cel/a.ts:1: has a default export: export it by its name',
          'src/cel/b.ts:2: has a default export: export it by its name',
        ],
      ],
    ],
    EXCEPTIONS.defaultExport,
  ],
]

const sources = readSources()

for (const [name, rule, planted, exceptions = []] of RULES) {
  describe(name, () => {
    it('holds in this repository', () => {
      assert.deepEqual(except(rule(sources), exceptions).map(renderViolation), [])
    })
    for (const [title, files, said] of planted) {
      it(`planted: ${title}`, () => {
        const list = Object.entries(files).map(([path, text]) => ({ path, text }))
        assert.deepEqual(rule(list).map(renderViolation), said)
      })
    }
  })
}

describe('an exception', () => {
  const violations = [{ path: 'src/cel/a.ts', line: 1, message: 'is odd' }]
  it('excuses its file and no other', () => {
    assert.deepEqual(except(violations, [{ path: 'src/cel/a.ts', reason: 'old' }]), [])
    assert.deepEqual(except(violations, []), violations)
  })
  it('that excuses nothing is a violation', () => {
    assert.deepEqual(except([], [{ path: 'src/cel/b.ts', reason: 'old' }]).map(renderViolation), [
      'src/cel/b.ts:1: has an exception in test/architecture/table.ts that it does not need: remove it',
    ])
  })
})

describe('the import table', () => {
  it('lists every folder once and has no cycles', () => {
    const rows = IMPORT_TABLE.flatMap(({ folders, mayImport }) =>
      folders.map((folder) => [folder, mayImport] as const),
    )
    const table = new Map(rows)
    assert.equal(table.size, rows.length)
    const reaches = (from: string, to: string): boolean => {
      const next = table.get(from) ?? []
      return next !== 'all' && (next.includes(to) || next.some((folder) => reaches(folder, to)))
    }
    assert.deepEqual(
      [...table.keys()].filter((folder) => reaches(folder, folder)),
      [],
    )
  })
})
