import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { IMPORT_TABLE } from '../test/architecture/table.ts'
import { type Generator, replaceSection } from './generated.ts'

/** Generates the table in ARCHITECTURE.md that test/architecture.test.ts enforces. */
export const importTable: Generator = {
  name: 'import table',
  folders: [],
  generate: (root) => {
    const path = 'ARCHITECTURE.md'
    const text = readFileSync(join(root, path), 'utf8')
    return new Map([[path, replaceSection(text, 'import table', renderTable())]])
  },
}

function renderTable(): string {
  const rows = IMPORT_TABLE.map(({ folders, mayImport }) => {
    const targets = mayImport === 'all' ? 'all' : mayImport.join(', ')
    return `| ${folders.join(', ')} | ${targets === '' ? '–' : targets} |`
  })
  return ['| folder | may import |', '|---|---|', ...rows].join('\n')
}
