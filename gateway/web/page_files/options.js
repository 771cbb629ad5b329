// A field for every option that the service describes in its capabilities.

import { element, find } from "./elements.js";

const ELSEWHERE = new Set(["format", "level"]); // these have controls of their own

export function createOptions() {
  let schemas = {};
  const form = find("options");

  function describe(described) {
    schemas = Object.fromEntries(Object.entries(described).filter(([name]) => !ELSEWHERE.has(name)));
    find("fields").replaceChildren(...Object.entries(schemas).map(([name, schema]) => fieldOf(name, schema)));
  }

  /** What was chosen and is no default, as texts. The service judges the values. */
  function chosen() {
    const values = Object.entries(schemas).map(([name, schema]) => [name, schema, valueOf(form.elements[name])]);
    const other = values.filter(([, schema, value]) => value !== "" && value !== String(schema.default));
    return Object.fromEntries(other.map(([name, , value]) => [name, value]));
  }

  const level = () => form.elements.level.value;

  return { describe, chosen, level };
}

const valueOf = (control) => (control.type === "checkbox" ? String(control.checked) : control.value.trim());

function fieldOf(name, schema) {
  const help = `help-${name}`;
  const control = controlOf(name, schema);
  control.setAttribute("aria-describedby", help);
  const label = element("label", {}, control, element("span", {}, name));
  return element("div", { class: "field" }, label, element("p", { class: "quiet", id: help }, schema.description ?? ""));
}

function controlOf(name, schema) {
  if (schema.type === "boolean") return element("input", { type: "checkbox", name, checked: schema.default });
  if (schema.enum) {
    const options = schema.enum.map((value) => element("option", { selected: value === schema.default }, value));
    return element("select", { name }, ...options);
  }
  const inputmode = { integer: "numeric", number: "decimal" }[schema.type];
  return element("input", { name, type: "text", value: schema.default ?? "", inputmode, autocomplete: "off", spellcheck: "false" });
}
