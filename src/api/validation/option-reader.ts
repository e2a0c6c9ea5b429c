/** Reads a command line as memcached's getopt_long does. */
import { OPTIONS, type Option } from './memcached-options.ts';

/** One option as it was given, and where. */
export interface GivenOption {
  readonly index: number;
  readonly text: string;
  /** Missing when memcached knows no such option. */
  readonly option?: Option;
  /** Missing when there is none, also where there should be one. */
  readonly value?: string;
}

export interface CommandLine {
  readonly options: readonly GivenOption[];
  /** What is neither an option nor the value of one. */
  readonly words: readonly string[];
  /** Where "--" ends the options. */
  readonly end?: number;
}

/** `-vf2` is `-v -f 2`, and so is `-v --slab-g 2`. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const options: GivenOption[] = [];
  const words: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const text = args[index] ?? '';
    if (text === '--') return { options, words: [...words, ...args.slice(index + 1)], end: index };
    const found = text.startsWith('--') ? [readLong(text, index)] : readShort(text, index);
    const last = found.pop();
    const next = args[index + 1];
    if (!last) words.push(text);
    else if (last.option?.takesValue === true && last.value === undefined && next !== undefined) {
      options.push(...found, { ...last, value: next });
      index += 1;
    } else options.push(...found, last);
  }
  return { options, words };
}

/** A name may be abbreviated as long as it is unique. */
function readLong(text: string, index: number): GivenOption {
  const [, name = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  const candidates = OPTIONS.filter((option) => option.name?.startsWith(name));
  const exact = candidates.find((option) => option.name === name);
  const option = exact ?? (candidates.length === 1 ? candidates[0] : undefined);
  return { index, text, ...(option && { option }), ...(value !== undefined && { value }) };
}

/** Letters may share a dash; the rest after one that takes a value is its value. */
function readShort(text: string, index: number): GivenOption[] {
  const given: GivenOption[] = [];
  if (!text.startsWith('-')) return given;
  for (let position = 1; position < text.length; position += 1) {
    const option = OPTIONS.find(({ letter }) => letter === text[position]);
    const rest = text.slice(position + 1);
    if (option?.takesValue === true) return [...given, { index, text, option, ...(rest !== '' && { value: rest }) }];
    given.push({ index, text, ...(option && { option }) });
  }
  return given;
}
