import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'

/*
 * A gateway, whose program comes first among the arguments, with a line on stdout for each garbage
 * collection. Not by a flag of the command line: with one the gateway leaves V8 alone. And not
 * before it runs, since V8 takes no code that was compiled with other flags.
 */
const [program = ''] = process.argv.splice(2, 1)
// What it starts by its own name, as the process that lints, is the program itself.
process.argv[1] = program
await import(pathToFileURL(program).href)
setFlagsFromString('--trace-gc')
