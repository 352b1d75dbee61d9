import { join } from 'node:path'

const BUILT = process.env['TEST_PROGRAMS']
const ROOT = join(import.meta.dirname, '..')

/**
 * The programs that tests start: those of the sources, or of the folder that TEST_PROGRAMS names
 * (tools/test/build-programs.ts), which start in a third of the time.
 */
export const PORTCULLIS =
  BUILT === undefined ? join(ROOT, 'bin/portcullis.ts') : join(BUILT, 'portcullis.mjs')
/** For tests that change modules of the program. */
export const PORTCULLIS_SOURCES = join(ROOT, 'bin/portcullis.ts')
export const CONTROLLER =
  BUILT === undefined ? join(ROOT, 'bin/controller.ts') : join(BUILT, 'controller.mjs')
