/** Reads what a TypeScript source reaches for: its imports of every form, and its uses of `process`. */
import { parseSync } from 'oxc-parser';

export interface Reach {
  readonly line: number;
  /** The module that is named; `undefined` where the name is computed and nobody can tell. */
  readonly module: string | undefined;
}

export interface SourceImports {
  readonly imports: readonly Reach[];
  /** The lines that touch the global `process`. */
  readonly processLines: readonly number[];
  readonly syntaxErrors: readonly string[];
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

/** Nodes that name a module, with the field that holds the name. */
const moduleFields: Readonly<Record<string, string>> = {
  ImportDeclaration: 'source',
  ExportNamedDeclaration: 'source',
  ExportAllDeclaration: 'source',
  ImportExpression: 'source',
  TSImportType: 'source',
  TSExternalModuleReference: 'expression',
};

/** Fields that hold a mere name, which is not a use of the variable of that name, unless it is computed. */
const nameFields: Readonly<Record<string, string>> = {
  MemberExpression: 'property',
  Property: 'key',
  PropertyDefinition: 'key',
  MethodDefinition: 'key',
  TSPropertySignature: 'key',
  TSMethodSignature: 'key',
  TSQualifiedName: 'right',
};

export function readImports(file: string, source: string): SourceImports {
  const { program, errors } = parseSync(file, source);
  const lineAt = (offset: number) => source.slice(0, offset).split('\n').length;
  const imports: Reach[] = [];
  const processLines: number[] = [];

  const visit = (node: Node, isName: boolean): void => {
    const field = moduleFields[node.type];
    const named = field === undefined ? undefined : node[field];
    if (isNode(named)) imports.push({ line: lineAt(node.start), module: literalOf(named) });
    if ((isIdentifier(node, 'process') && !isName) || isGlobalProcess(node)) processLines.push(lineAt(node.start));
    for (const [key, value] of Object.entries(node)) {
      const childIsName = nameFields[node.type] === key && node['computed'] !== true;
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, childIsName);
    }
  };
  visit(program as unknown as Node, false);
  return { imports, processLines, syntaxErrors: errors.map((error) => error.message) };
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function isIdentifier(node: unknown, name: string): boolean {
  return isNode(node) && node.type === 'Identifier' && node['name'] === name;
}

/** `globalThis.process` and `global['process']`. */
function isGlobalProcess(node: Node): boolean {
  if (node.type !== 'MemberExpression') return false;
  const { object, property } = node;
  const ofGlobal = isIdentifier(object, 'globalThis') || isIdentifier(object, 'global');
  return ofGlobal && (isIdentifier(property, 'process') || (isNode(property) && literalOf(property) === 'process'));
}

function literalOf(node: Node): string | undefined {
  if (node.type === 'TSLiteralType' && isNode(node['literal'])) return literalOf(node['literal']);
  return node.type === 'Literal' && typeof node['value'] === 'string' ? node['value'] : undefined;
}
