import { type Group, UNHIDDEN } from './threshold.ts'

export const CONFIGURATION: readonly Group[] = [
  {
    name: 'changes',
    tests: [
      'test/fuzz/incremental-{match,compile,translation}.test.ts',
      'src/program/mentions.test.ts',
      'src/reach/backends-by-name.test.ts',
      'src/model/*.test.ts',
    ],
    thresholds: [
      {
        file: 'src/reach/reach.ts',
        tests: [
          'endBefore - start + end - start > MAX_AT_ONCE',
          'gone.length + come.length > MAX_AT_ONCE',
        ],
        switches: 'index is changed in place → rebuilt',
      },
      {
        file: 'src/program/group-difference.ts',
        tests: ['changed > MAX_AT_ONCE'],
        switches: 'groups are changed → rebuilt',
      },
      {
        file: 'src/program/mentions.ts',
        tests: ['(replaced?.length ?? end - start) > MAX_AT_ONCE'],
        switches: 'index is changed → rebuilt',
      },
      {
        file: 'src/controller/translate/object-list.ts',
        tests: ['added.length > MAX_INSERTS'],
        switches: 'inserted one by one → sorted again',
      },
      {
        file: 'src/controller/translate/certificates.ts',
        tests: ['CHECKED.size >= MAX_CHECKED'],
        switches: 'checks are kept → made again',
      },
    ],
  },
  {
    name: 'files',
    tests: [
      'test/fuzz/{quick-yaml,quick-head,config-mutations}.test.ts',
      'src/sources/file/read.test.ts',
    ],
    except: ['have their own places, and share one value'],
    thresholds: [
      {
        file: 'src/sources/file/reading.ts',
        tests: ['memory.values.size < MAX_CHECKED', 'texts.size < MAX_CHECKED'],
        switches: 'what was checked is kept → checked again',
      },
      {
        file: 'src/sources/file/repeated-blocks.ts',
        tests: ['this.#asked < FIRST'],
        switches: 'blocks are looked for → only if many repeat',
      },
      {
        file: 'src/sources/file/repeated-blocks.ts',
        tests: ['this.#known.size === MAX_BLOCKS'],
        constant: 'MAX_BLOCKS',
        switches: 'blocks are kept → read again',
        values: UNHIDDEN,
      },
      {
        file: 'src/sources/file/repeated-blocks.ts',
        tests: ['text.length > MAX_LENGTH'],
        switches: 'blocks are kept → read again',
      },
    ],
  },
  {
    name: 'quick readers',
    tests: ['test/fuzz/{quick-yaml,quick-head}.test.ts'],
    except: [
      'reads a typical route head',
      'distinguishes items that only begin alike',
      'on similar items',
      'on mutated files',
    ],
    thresholds: [
      {
        file: 'src/sources/file/quick-scalars.ts',
        tests: ['keyEnd - keyStart > MAX_KEY', 'key.length > MAX_KEY'],
        switches: 'quick reader → the package',
        values: [0, 1, 1_000],
      },
      {
        file: 'src/sources/file/quick-scalars.ts',
        tests: ['++cursor.depth > MAX_DEPTH'],
        switches: 'quick reader → the package',
        values: [0, 4, 100],
      },
      {
        file: 'src/sources/file/quick-yaml.ts',
        tests: ['++cursor.depth > MAX_DEPTH'],
        switches: 'quick reader → the package',
        values: [0, 4, 100],
      },
      {
        file: 'src/sources/file/sections/quick-head.ts',
        tests: ['value.length <= MAX_PATH'],
        switches: 'quick check → schema',
        values: [0, 1, 2_048],
      },
      {
        file: 'src/sources/file/sections/quick-head.ts',
        tests: ['value.length <= MAX_ENTRIES'],
        switches: 'quick check → schema',
        values: [0, 1, 64],
      },
    ],
  },
]
