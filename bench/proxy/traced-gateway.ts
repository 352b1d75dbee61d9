import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'

/*
 * Runs a gateway, whose program is the first argument, and prints a line for each garbage
 * collection. The flag is not passed on the command line, because the gateway then leaves V8's
 * settings alone, and not set before the gateway runs, because V8 rejects code that was compiled
 * with other flags.
 */
const [program = ''] = process.argv.splice(2, 1)
// Child processes that the gateway starts by its own name, such as the linter, run the program.
process.argv[1] = program
await import(pathToFileURL(program).href)
setFlagsFromString('--trace-gc')
