import { join } from 'node:path'
import { adminApiPage } from './admin-api-page.ts'
import { apiShapes } from './api-shapes.ts'
import { chartFiles } from './charts/chart-files.ts'
import { dashboard } from './charts/dashboard.ts'
import { commandPage } from './command-page.ts'
import { configCases } from './config-cases.ts'
import { configReference } from './config-reference.ts'
import { definitions } from './crds/definitions.ts'
import { resourceReference } from './crds/reference.ts'
import { decisionPage } from './decision-page.ts'
import { errorPages } from './error-pages.ts'
import { expressionReference } from './expression-reference.ts'
import { applyChanges, findChanges, type Generator } from './generated.ts'
import { importTable } from './import-table.ts'
import { internalErrorsPage } from './internal-errors-page.ts'
import { limitsPage } from './limits-page.ts'
import { llmTranslationPage } from './llm-translation-page.ts'
import { policyList } from './policy-list.ts'
import { proofsPage } from './proofs-page.ts'
import { protobufCode } from './protobuf-code.ts'
import { supportedFeatures } from './supported-features.ts'
import { telemetryPages } from './telemetry-pages.ts'
import { testFileReference } from './test-file-reference.ts'

/** All generators of files that are checked in. */
export const GENERATORS: readonly Generator[] = [
  adminApiPage,
  apiShapes,
  chartFiles,
  commandPage,
  configCases,
  configReference,
  dashboard,
  definitions,
  decisionPage,
  errorPages,
  expressionReference,
  importTable,
  internalErrorsPage,
  resourceReference,
  limitsPage,
  llmTranslationPage,
  policyList,
  proofsPage,
  protobufCode,
  supportedFeatures,
  telemetryPages,
  testFileReference,
]

const ROOT = join(import.meta.dirname, '..')

/** `npm run golden` updates outdated files; with `--check` it only lists them and exits with 1. */
function run(checkOnly: boolean): void {
  const changes = findChanges(ROOT, GENERATORS)
  for (const { kind, path } of changes) console.log(`${kind}: ${path}`)
  if (changes.length === 0) console.log('all generated files are in step')
  else if (checkOnly) {
    console.log('run `npm run golden` and commit what it writes')
    process.exitCode = 1
  } else applyChanges(ROOT, changes)
}

if (import.meta.main) run(process.argv.includes('--check'))
